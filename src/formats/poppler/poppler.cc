/* Pages of a PDF as text, by poppler. See poppler.h. */
#include "formats/poppler.h"

#include "base/guarded.h"

#include <algorithm>
#include <cctype>
#include <climits>
#include <map>
#include <memory>
#include <poppler-document.h>
#include <poppler-global.h>
#include <poppler-page.h>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Lines = std::vector<std::string>;

std::string utf8(const poppler::ustring &text) {
  const poppler::byte_array bytes = text.to_utf8();
  std::string out(bytes.begin(), bytes.end());
  for (char &c : out)
    if (static_cast<unsigned char>(c) < ' ' && c != '\n') c = c == '\f' ? '\n' : ' ';
  return out;
}

void trim(Lines *lines) {
  while (!lines->empty() && lines->back().empty()) lines->pop_back();
  while (!lines->empty() && lines->front().empty()) lines->erase(lines->begin());
}

/* Lines without blanks at their ends; empty ones separate blocks, and are dropped at both ends of the page. */
Lines lines_of(const std::string &text) {
  Lines lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const size_t first = text.find_first_not_of(' ', at), last = text.find_last_not_of(' ', end - 1);
    const bool is_blank = first == std::string::npos || first >= end;
    if (!is_blank)
      lines.push_back(text.substr(first, last + 1 - first));
    else if (!lines.empty() && !lines.back().empty())
      lines.emplace_back();
    at = end + 1;
  }
  trim(&lines);
  return lines;
}

/* What a running head or foot has on all pages: all but its digits. */
std::string key_of(const std::string &line) {
  std::string key;
  for (const char c : line)
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) key += c;
  return key;
}

std::string join(Lines lines, const std::map<std::string, size_t> &n_pages_with, size_t n_pages) {
  const auto is_running = [&](const std::string &line) {
    const auto found = n_pages_with.find(key_of(line));
    return found != n_pages_with.end() && found->second >= 3 && found->second * 4 >= n_pages;
  };
  std::string out;
  if (!lines.empty() && is_running(lines.back())) lines.pop_back();
  if (!lines.empty() && is_running(lines.front())) lines.erase(lines.begin());
  trim(&lines);
  for (const std::string &line : lines) out += line + "\n";
  return out;
}

} // namespace

int cq_poppler_read(const char *bytes, size_t n,
                    int (*put)(void *context, cq_pdf_part part, const char *text, size_t n), void *context,
                    char *message, size_t message_size) {
  return cq_guarded(message, message_size, [&] {
    poppler::set_debug_error_function([](const std::string &, void *) {}, nullptr);
    if (n > INT_MAX) throw std::runtime_error("is too large");
    const std::unique_ptr<poppler::document> document(
        poppler::document::load_from_raw_data(bytes, static_cast<int>(n)));
    if (document == nullptr) throw std::runtime_error("is damaged, or no PDF");
    if (document->is_locked()) throw std::runtime_error("is encrypted: save it without a password");
    const std::string title = utf8(document->info_key("Title")), author = utf8(document->info_key("Author"));
    if (put(context, CQ_PDF_TITLE, title.data(), title.size()) == 0) return;
    if (put(context, CQ_PDF_AUTHOR, author.data(), author.size()) == 0) return;
    std::vector<Lines> pages;
    std::map<std::string, size_t> n_pages_with; /* a first or last line */
    for (int i = 0; i < document->pages(); i++) {
      const std::unique_ptr<poppler::page> page(document->create_page(i));
      if (page == nullptr) throw std::runtime_error("page " + std::to_string(i + 1) + " cannot be read");
      pages.push_back(lines_of(utf8(page->text(poppler::rectf(), poppler::page::non_raw_non_physical_layout))));
      const Lines &lines = pages.back();
      if (!lines.empty()) n_pages_with[key_of(lines.front())]++;
      if (lines.size() > 1 && key_of(lines.back()) != key_of(lines.front())) n_pages_with[key_of(lines.back())]++;
    }
    for (const Lines &lines : pages) {
      const std::string text = join(lines, n_pages_with, pages.size());
      if (put(context, CQ_PDF_PAGE, text.data(), text.size()) == 0) return;
    }
  });
}
