# make install: program, shared library, headers, calque.pc, and a CMake package that gives calque::calque.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/calque)

install(TARGETS calque EXPORT calque-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET calque_faiss)
  install(TARGETS calque_faiss LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(TARGETS calque_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/calque DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
# The sample corpus and its teacher, on which the installed `calque demo` runs.
install(DIRECTORY ${CMAKE_SOURCE_DIR}/sample DESTINATION ${CMAKE_INSTALL_DATADIR}/calque PATTERN "__pycache__" EXCLUDE)
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/calque)

# The installed program finds the library that was installed with it, wherever both are moved to.
file(RELATIVE_PATH bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
set_target_properties(calque_program PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib}")

# pkg-config. ${pcfiledir} keeps it right when the prefix is chosen at install time.
file(RELATIVE_PATH CALQUE_PC_TO_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(${CMAKE_SOURCE_DIR}/cmake/calque.pc.in ${CMAKE_BINARY_DIR}/calque.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/calque.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# find_package(calque)
install(EXPORT calque-targets NAMESPACE calque:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/calque-config.cmake.in ${CMAKE_BINARY_DIR}/calque-config.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/calque-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/calque-config.cmake ${CMAKE_BINARY_DIR}/calque-config-version.cmake
        DESTINATION ${package_dir})
