// no_forms.cc: replaces form_reader.cc and others for series of the server without an implementation.
#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/planned/forms/form_parts.h"

namespace postern::mariadb {

std::optional<WhyNot> read_form(THD *, Bytes, ParsedText, FormParts &) {
  return WhyNot::series;
}

}  // namespace postern::mariadb
