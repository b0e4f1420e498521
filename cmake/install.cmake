# make install: program, library (shared and static), plugins, headers, manual, guides, examples, unit for systemd, calque.pc,
# and a CMake package that gives calque::calque and calque::static.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/calque)

install(TARGETS calque EXPORT calque-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS calque_static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
set(plugins)
foreach(plugin calque_bzip2 calque_faiss calque_formats calque_curl calque_mecab calque_mpi calque_postgresql)
  if(TARGET ${plugin})
    list(APPEND plugins ${plugin})
    install(TARGETS ${plugin} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/calque)
  endif()
endforeach()
install(TARGETS calque_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/calque DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN lab EXCLUDE)
# The sample corpus and its teacher, on which the installed `calque demo` runs.
install(DIRECTORY ${CMAKE_SOURCE_DIR}/sample DESTINATION ${CMAKE_INSTALL_DATADIR}/calque USE_SOURCE_PERMISSIONS
        PATTERN "__pycache__" EXCLUDE)
# The model of commands that are told none.
install(DIRECTORY ${CMAKE_SOURCE_DIR}/models DESTINATION ${CMAKE_INSTALL_DATADIR}/calque)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN Doxyfile EXCLUDE PATTERN "*.css" EXCLUDE)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.c" PATTERN "*.py" PATTERN "*.md")

if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  configure_file(${CMAKE_CURRENT_LIST_DIR}/calque.service.in ${CMAKE_BINARY_DIR}/calque.service @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/calque.service DESTINATION lib/systemd/system)
endif()

# Man pages and completions, which the program writes itself. zsh looks for those of packages in a place of its own.
if(NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR)
  set(manual ${CMAKE_BINARY_DIR}/manual)
  add_custom_command(
    OUTPUT ${manual}/stamp
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${manual}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${manual}
    COMMAND calque_program manual man ${manual}/man1
    COMMAND calque_program manual bash ${manual}/bash
    COMMAND calque_program manual zsh ${manual}/zsh
    COMMAND calque_program manual fish ${manual}/fish
    COMMAND ${CMAKE_COMMAND} -E touch ${manual}/stamp
    DEPENDS calque_program
    COMMENT "Writing man pages and completions")
  add_custom_target(manual ALL DEPENDS ${manual}/stamp)
  if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
    set(zsh_directory zsh/vendor-completions)
  else()
    set(zsh_directory zsh/site-functions)
  endif()
  install(DIRECTORY ${manual}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
  install(FILES ${manual}/bash/calque DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${manual}/zsh/_calque DESTINATION ${CMAKE_INSTALL_DATADIR}/${zsh_directory})
  install(FILES ${manual}/fish/calque.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()

# What has to be built before it: `make install` builds no more than that.
add_custom_target(installed DEPENDS calque calque_static calque_program ${plugins})
if(TARGET manual)
  add_dependencies(installed manual)
endif()

# What programs that link the static library need with it.
set(CALQUE_PC_MODULES zlib libzstd liblzma snappy jansson sentencepiece simdjson icu-i18n icu-uc libcmark yaml-0.1
    libxml-2.0 sqlite3)
set(CALQUE_CMAKE_LIBS csv stemmer stdc++ pthread ${CMAKE_DL_LIBS} m)
list(JOIN CALQUE_PC_MODULES ", " CALQUE_PC_REQUIRES)
list(JOIN CALQUE_PC_MODULES " " CALQUE_PC_MODULES)
list(JOIN CALQUE_CMAKE_LIBS " -l" CALQUE_PC_LIBS)
string(PREPEND CALQUE_PC_LIBS "-l")

# pkg-config. ${pcfiledir} keeps it right when the prefix is chosen at install time.
file(RELATIVE_PATH CALQUE_PC_TO_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(${CMAKE_SOURCE_DIR}/cmake/calque.pc.in ${CMAKE_BINARY_DIR}/calque.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/calque.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# find_package(calque)
install(EXPORT calque-targets NAMESPACE calque:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/calque-config.cmake.in ${CMAKE_BINARY_DIR}/calque-config.cmake
                              INSTALL_DESTINATION ${package_dir}
                              PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/calque-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/calque-config.cmake ${CMAKE_BINARY_DIR}/calque-config-version.cmake
        DESTINATION ${package_dir})
