/* Which of the languages that are identified (calque/language.h) a tag names. */
#ifndef TEXT_IDENTIFY_H
#define TEXT_IDENTIFY_H

/* Its code; NULL: it is not among them. Script and region do not matter, nor does case: "pt-BR" is "pt". Codes that were
 * replaced are their successors ("iw" is "he"), and "no" is "nb". */
const char *cq_language_known_as(const char *tag);

#endif
