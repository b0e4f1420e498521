/* Finds the identifiable language (calque/language.h) that a tag names. */
#ifndef TEXT_IDENTIFY_H
#define TEXT_IDENTIFY_H

/* The language's code, or NULL. Script, region and case are ignored: "pt-BR" is "pt". All codes of a language are equal
 * (language_codes.h), and "no" is "nb". */
const char *cq_language_known_as(const char *tag);

#endif
