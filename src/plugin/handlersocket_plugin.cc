// handlersocket_plugin.cc: the plugin `handlersocket`: a port for reading and one for writing.
#include "server_plugin.h"

#include <climits>
#include <memory>
#include <string>

#include "handlersocket/protocol.h"
#include "live_settings.h"
#include "running.h"
#include "settings.h"

namespace postern::plugin::handlersocket {

#define PREFIX "handlersocket_"
#define OWN_SETTINGS "handlersocket/settings.def"
#define SERVES_CLIENTS
#include "plugin_settings.inc"

namespace {

namespace protocol = ::postern::handlersocket;

protocol::Settings protocol_settings(Access access) {
  protocol::Settings chosen;
  chosen.access = access;
  chosen.accounts = settings.auth_choice == Settings::Authentication::account;
  if (settings.auth_choice == Settings::Authentication::secret)
    chosen.secret = text(access == Access::read ? settings.plain_secret : settings.plain_secret_wr);
  chosen.request_bytes_max = settings.max_request_bytes;
  chosen.open_indexes_max = static_cast<uint32_t>(settings.max_open_indexes);
  chosen.key_values_max = static_cast<uint32_t>(settings.max_key_values);
  chosen.errors = settings.errors_choice == Settings::Errors::compatible ? protocol::ErrorStyle::compatible
                                                                         : protocol::ErrorStyle::text;
  return chosen;
}

const char *words_of(Settings::Authentication auth, bool has_secret) {
  if (auth == Settings::Authentication::account) return "accounts";
  return auth == Settings::Authentication::secret && has_secret ? "secret" : "everybody";
}

class HandlerSocketRunning final : public Running {
 public:
  bool open() override {
    return doors_.prepare() && open_port(read_, Access::read) && open_port(write_, Access::write);
  }
  const Doors &doors() const override { return doors_; }
  void apply_settings() override;
  void add_own(StatusPage &page, const Counters &counters) const override;

 private:
  door::Options door_options(Access access) const;
  bool open_port(protocol::HandlerSocket &protocol, Access access);

  protocol::HandlerSocket read_{protocol_settings(Access::read)};
  protocol::HandlerSocket write_{protocol_settings(Access::write)};
  Doors doors_{"handlersocket", settings, engine::LoginNames::meant};
};

door::Options HandlerSocketRunning::door_options(Access access) const {
  const bool reads = access == Access::read;
  door::Options chosen = doors_.common();
  chosen.name = reads ? "handlersocket read" : "handlersocket write";
  chosen.host = text(settings.address);
  chosen.port = static_cast<uint16_t>(reads ? settings.port : settings.port_wr);
  chosen.unix_path = text(reads ? settings.socket : settings.socket_wr);
  chosen.threads = static_cast<uint32_t>(reads ? settings.threads : settings.threads_wr);
  const bool secret = *(reads ? settings.plain_secret : settings.plain_secret_wr) != '\0';
  chosen.lets_in = words_of(settings.auth_choice, secret);
  chosen.login_threads = settings.auth_choice == Settings::Authentication::account ? limits::login_threads : 0;
  return chosen;
}

bool HandlerSocketRunning::open_port(protocol::HandlerSocket &protocol, Access access) {
  const bool reads = access == Access::read;
  return doors_.open({.options = door_options(access),
                      .protocol = &protocol,
                      .access = access,
                      .suffix = reads ? "" : "_wr",
                      .usual_port = static_cast<uint16_t>(reads ? 9998 : 9999),
                      .asks = protocol.settings().accounts || !protocol.settings().secret.empty(),
                      .remedy = "a secret or accounts; set one, handlersocket_auth"});
}

void HandlerSocketRunning::apply_settings() {
  for (const Access access : {Access::read, Access::write}) {
    (access == Access::read ? read_ : write_).change(protocol_settings(access));
    doors_.apply(access, door_options(access));
  }
}

void HandlerSocketRunning::add_own(StatusPage &page, const Counters &counters) const {
  page.add_switch("listening", doors_.listening(Access::read));
  page.add_switch("listening_wr", doors_.listening(Access::write));
  Tally<protocol::Refusal> refusals;
  read_.refusals().add_to(refusals);
  write_.refusals().add_to(refusals);
#define REFUSAL(name, code, word, text) page.add("errors_" #name, refusals.get(protocol::Refusal::name));
#include "handlersocket/refusal.def"
#undef REFUSAL
  // Names of the original that monitoring scripts read.
  page.add("hs_table_open", counters.get(Counter::table_opens));
  page.add("hs_table_close", counters.get(Counter::table_closes));
  page.add("hs_table_lock", counters.get(Counter::table_locks));
  page.add("hs_table_unlock", counters.get(Counter::table_unlocks));
}

}  // namespace

std::unique_ptr<Running> make_running() {
  return std::make_unique<HandlerSocketRunning>();
}

}  // namespace postern::plugin::handlersocket
