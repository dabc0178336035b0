"""The parts of tools/server.

  words      pure: package lists, versions, dependencies, apt's entries, server.env
  console    messages, other programs, failures
  place      the folder that a command makes: lock, temporary folder, results
  apt        the machine's package suites with source, for another release if need be
  unpack     packages and source into folders, and which libraries the programs load
  mariadb    fetch: a whole private server
  building   installed, package: headers and source to build for a server of the machine
  extras     engines, galera, mtr: parts with packages of their own
  mysql      mysql: a whole private MySQL
"""
