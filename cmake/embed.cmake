# Turns the files of a folder into a table in C: cmake -D FROM=web -D OUT=pages_table.c -P embed.cmake
# Each file is a row of serve_pages (src/serve/pages.h): path, content type, and twice, as it is and compressed with
# gzip, an ETag (SHA-256 of the file) and the bytes.
find_program(GZIP gzip REQUIRED)
# Sets ${out} to the bytes of a file as elements of an array in C.
function(read_bytes out file)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "((0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,))" "\\1\n" bytes "${bytes}")
  set(${out} "${bytes}" PARENT_SCOPE)
endfunction()
file(GLOB_RECURSE files RELATIVE ${FROM} ${FROM}/*)
list(SORT files)
set(types html "text/html@ charset=utf-8" js "text/javascript@ charset=utf-8" css "text/css@ charset=utf-8"
    svg "image/svg+xml" png "image/png" ico "image/x-icon" json "application/json" txt "text/plain@ charset=utf-8")
set(text "/* Made by cmake/embed.cmake. */\n#include \"serve/pages.h\"\n\n")
set(rows "")
set(i 0)
foreach(file IN LISTS files)
  get_filename_component(ending ${file} LAST_EXT)
  string(SUBSTRING "${ending}" 1 -1 ending)
  list(FIND types "${ending}" at)
  if(at EQUAL -1 OR file MATCHES "(^|/)\\.")
    continue()
  endif()
  math(EXPR at "${at} + 1")
  list(GET types ${at} type)
  string(REPLACE @ ";" type "${type}") # a list's items have no semicolons
  file(SHA256 ${FROM}/${file} hash)
  string(SUBSTRING ${hash} 0 32 hash)
  # Neither name nor time are in it: the same file gives the same bytes.
  execute_process(COMMAND ${GZIP} -9nc INPUT_FILE ${FROM}/${file} OUTPUT_FILE ${OUT}.gz RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "gzip of ${file}: ${failed}")
  endif()
  read_bytes(bytes ${FROM}/${file})
  read_bytes(gzipped ${OUT}.gz)
  string(APPEND text "static const unsigned char page_${i}[] = {\n${bytes}0};\n"
      "static const unsigned char page_${i}_gzip[] = {\n${gzipped}0};\n")
  if(file STREQUAL "index.html")
    set(path "/")
  else()
    set(path "/${file}")
  endif()
  string(APPEND rows "    {\"${path}\", \"${type}\",\n"
      "     {\"\\\"${hash}\\\"\", page_${i}, sizeof page_${i} - 1},\n"
      "     {\"\\\"${hash}-gzip\\\"\", page_${i}_gzip, sizeof page_${i}_gzip - 1}},\n")
  math(EXPR i "${i} + 1")
endforeach()
string(APPEND text "\nconst serve_page serve_pages[] = {\n${rows}    {0},\n};\n")
file(REMOVE ${OUT}.gz)
file(WRITE ${OUT} "${text}")
