/* Numbers as text, with a decimal point in every locale, so files do not depend on the country. Otherwise like the C
 * functions of these names. */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

double cq_strtod(const char *text, char **end);
/* Only digits, with a value of at most 64 bits; false for any other text. */
bool cq_parse_count(uint64_t *out, const char *text);
int cq_vsnprintf(char *out, size_t size, const char *format, va_list args) __attribute__((format(printf, 3, 0)));
int cq_snprintf(char *out, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
int cq_fprintf(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
