#!/bin/sh
# A client for zot's protocol that needs nothing but a shell.
#
# usage: client.sh <prompt> <command> [flags…]
#   client.sh 'list the files here' libero rpc --provider offline
#
# Starts the command, sends one prompt, prints the answer as it streams, and what tools do on stderr; ends with done.

set -eu

prompt=$1
shift

pipes=$(mktemp -d)
trap 'rm -rf "$pipes"' EXIT
mkfifo "$pipes/in" "$pipes/out"
"$@" <"$pipes/in" >"$pipes/out" &
agent=$!
exec 3>"$pipes/in" 4<"$pipes/out"

if [ -n "${ZOTCORE_RPC_TOKEN:-}" ]; then
  printf '{"id":"0","type":"hello","token":"%s"}\n' "$ZOTCORE_RPC_TOKEN" >&3
fi
printf '{"id":"1","type":"prompt","message":"%s"}\n' "$prompt" >&3

status=1
while IFS= read -r line <&4; do
  case $line in
  *'"type":"text_delta"}')
    text=${line#'{"delta":"'}
    printf '%b' "${text%'","type":"text_delta"}'}"
    ;;
  *'"type":"tool_call"}')
    name=${line##*'"name":"'}
    printf '[tool] %s\n' "${name%%'"'*}" >&2
    ;;
  *'"is_error":true'*'"type":"tool_result"}') printf '[tool error]\n' >&2 ;;
  *'"type":"error"}')
    printf '[error] %s\n' "$line" >&2
    status=1
    break
    ;;
  '{"type":"done"}')
    status=0
    break
    ;;
  esac
done
printf '\n'

exec 3>&-
cat <&4 >/dev/null
wait "$agent"
exit "$status"
