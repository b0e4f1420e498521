/* Teaches an English model the second column's language of a file of translations.
 *   extend_to_a_language all-MiniLM-L6-v2 en-de.tsv.gz work 5000
 * leaves the untrained student in work/student and the multilingual model in work/multilingual. */
#include <calque/calque.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static bool show(void *context, const cq_training_progress *p) {
  (void)context;
  if (p->n_steps)
    fprintf(stderr, "\r%-10s %6.1f %%  loss %.5f ", p->phase, 100.0 * (double)p->step / (double)p->n_steps, p->loss);
  return true; /* false would stop after a checkpoint */
}

int main(int argc, char **argv) {
  cq_error error = {0};
  cq_context *ctx = NULL;
  char student[4096], output[4096];
  if (argc != 5) return fprintf(stderr, "usage: %s TEACHER TSV DIRECTORY STEPS\n", argv[0]), 2;
  snprintf(student, sizeof student, "%s/student", argv[3]);
  snprintf(output, sizeof output, "%s/multilingual", argv[3]);
  mkdir(argv[3], 0777); /* whether it is there shows when the student is written */
  cq_student_options s = cq_student_default_options();
  s.kind = CQ_STUDENT_NEW_VOCABULARY, s.from = argv[1];
  s.text = &(cq_training_data){.path = argv[2]}, s.n_text = 1, s.vocab_size = 1000; /* real text: 30000 */

  cq_training_options run = cq_training_default_options();
  run.output = output, run.steps = strtoull(argv[4], NULL, 10), run.progress = show;
  cq_distill_options d = cq_distill_default_options();
  d.teacher = argv[1], d.student = student, d.run = &run;
  d.train = &(cq_training_data){.path = argv[2], .weight = 1}, d.n_train = 1;

  cq_status status = cq_context_open(&ctx, 0, &error);
  if (!status) status = cq_student_new(student, &s, ctx, &error);
  if (!status) status = cq_distill(NULL, &d, ctx, &error);
  fprintf(stderr, "\n%s\n", status ? error.message : output);
  cq_context_free(ctx);
  return status ? EXIT_FAILURE : EXIT_SUCCESS;
}
