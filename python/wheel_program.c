/* The program of the wheel, twice: in the library, the name by which bin/calque reaches what was its main(); with
 * WHEEL_PROGRAM, bin/calque itself, which is nothing but a call of the library beside it. */
__attribute__((visibility("default"))) int cq_wheel_program(int argc, char **argv);

#ifdef WHEEL_PROGRAM
int main(int argc, char **argv) {
  return cq_wheel_program(argc, argv);
}
#else
int cq_wheel_main(int argc, char **argv);

int cq_wheel_program(int argc, char **argv) {
  return cq_wheel_main(argc, argv);
}
#endif
