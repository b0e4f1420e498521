# cq_module(NAME DEPS ... LINK ...) makes the target cq_NAME of the folder it is called in, src/NAME; a room within a
# folder is a module of its own, "recipe/run".
#
# A folder's headers are found as "NAME/x.h", and only by the folders that list it under DEPS (or reach it
# through them): every module gets an include directory of its own that holds nothing but a link to the folder.
# An include against the direction therefore does not compile.

set(CQ_INCLUDE_ROOT ${CMAKE_BINARY_DIR}/module-includes)
set(CQ_WARNINGS -Wall -Wextra -Wshadow $<$<COMPILE_LANGUAGE:C>:-Wconversion> $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>)
if(CALQUE_WERROR)
  list(APPEND CQ_WARNINGS -Werror)
endif()
if(CALQUE_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
  set(CALQUE_SANITIZE "address,undefined")
endif()
if(CALQUE_SANITIZE)
  add_compile_options(-fsanitize=${CALQUE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${CALQUE_SANITIZE})
  if(CMAKE_C_COMPILER_ID MATCHES Clang) # programs in C are linked with a library that has C++ in it
    add_link_options(-fsanitize-link-c++-runtime)
    link_libraries(stdc++)
  endif()
endif()

function(cq_module folder)
  string(REPLACE / _ name ${folder})
  cmake_parse_arguments(ARG "" "" "DEPS;LINK" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.c *.cc)
  if(NOT sources)
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/empty.c "typedef int cq_empty;\n")
    set(sources ${CMAKE_CURRENT_BINARY_DIR}/empty.c)
  endif()
  add_library(cq_${name} OBJECT ${sources})
  get_filename_component(parent ${CQ_INCLUDE_ROOT}/${name}/${folder} DIRECTORY)
  file(MAKE_DIRECTORY ${parent})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${CQ_INCLUDE_ROOT}/${name}/${folder} SYMBOLIC)
  target_include_directories(cq_${name} PUBLIC ${CQ_INCLUDE_ROOT}/${name} PUBLIC ${CMAKE_SOURCE_DIR}/include)
  target_compile_options(cq_${name} PRIVATE ${CQ_WARNINGS})
  target_compile_definitions(cq_${name} PUBLIC _POSIX_C_SOURCE=200809L _DEFAULT_SOURCE _FILE_OFFSET_BITS=64 PRIVATE CQ_BUILDING)
  foreach(dep IN LISTS ARG_DEPS)
    string(REPLACE / _ dep ${dep})
    target_link_libraries(cq_${name} PUBLIC cq_${dep})
  endforeach()
  target_link_libraries(cq_${name} PUBLIC ${ARG_LINK})
  set_property(GLOBAL APPEND PROPERTY CQ_MODULES cq_${name})
endfunction()

# cq_plugin(NAME DEPS ... LINK ...) makes the library calque_NAME of the folder it is called in, which libcalque opens when it is
# first needed. It sees the headers of the folders under DEPS and links none of their code.
function(cq_plugin name)
  cmake_parse_arguments(ARG "" "" "DEPS;LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.c *.cc)
  add_library(calque_${name} MODULE ${sources})
  foreach(dep IN LISTS ARG_DEPS)
    target_include_directories(calque_${name} PRIVATE ${CQ_INCLUDE_ROOT}/${dep})
  endforeach()
  target_compile_options(calque_${name} PRIVATE ${CQ_WARNINGS})
  target_link_libraries(calque_${name} PRIVATE ${ARG_LINK})
  target_link_options(calque_${name} PRIVATE -Wl,--no-undefined -Wl,--exclude-libs,ALL)
  set_target_properties(calque_${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/src)
endfunction()
