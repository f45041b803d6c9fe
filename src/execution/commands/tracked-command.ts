/**
 * Scripts that run a command elsewhere, with a POSIX shell and `/proc`, so that it can be ended with all processes it
 * started: those in its session, and those with its mark in their environment.
 */

/** A program to start, with its environment. */
interface Invocation {
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/**
 * Runs a command in a folder, then ends the processes it left running and lists them after the mark at the end of stderr. The
 * script is passed in the environment, so that `ps` shows the command and little else.
 */
export function trackedCommand(mark: string, command: string, cwd: string): Invocation {
  if (command.includes('\0')) throw new Error('A command cannot contain a NUL character; take it out')
  const bytes = Buffer.byteLength(command)
  if (bytes > mostBytes) {
    const message = `The command has ${bytes} bytes, at most ${mostBytes} are possible; write long text to a file and use that`
    throw Object.assign(new Error(message), { code: 'E2BIG' })
  }
  return { argv: ['sh', '-c', 'eval "$LIBERO_RUN"', mark, command, cwd], env: { LIBERO_RUN: run } }
}

/** Linux limits an argument to 128 KiB. */
const mostBytes = 100_000

/** Ends a tracked command: asks it to end, and kills the rest a second later. */
export function endTracked(mark: string): Invocation {
  return { argv: ['sh', '-c', 'eval "$LIBERO_END"', mark], env: { LIBERO_END: end } }
}

export interface Trailer {
  /** Receives stderr; returns the part that belongs to the command. */
  take(bytes: Buffer): Buffer
  /** The bytes held back because they could begin the mark. */
  rest(): Buffer
  /** The command lines of leftover processes. */
  leftRunning(): string[]
  /** The folder did not exist, and nothing was run. */
  hadNoFolder(): boolean
  /** The script reached its end; else it never began, or was ended. */
  isComplete(): boolean
}

/** Separates the stderr of a tracked command from the trailer of the script. */
export function trailerOf(mark: string): Trailer {
  const sign = Buffer.from(`\0${mark}\n`)
  let held: Buffer = Buffer.alloc(0)
  let trailer: Buffer | undefined
  return {
    take(bytes) {
      if (trailer) {
        trailer = Buffer.concat([trailer, bytes])
        return Buffer.alloc(0)
      }
      const all = held.length > 0 ? Buffer.concat([held, bytes]) : bytes
      const at = all.indexOf(sign)
      if (at >= 0) trailer = all.subarray(at + sign.length)
      const until = at >= 0 ? at : all.length - overlap(all, sign)
      held = at >= 0 ? Buffer.alloc(0) : all.subarray(until)
      return all.subarray(0, until)
    },
    rest: () => held,
    isComplete: () => trailer !== undefined,
    hadNoFolder: () => trailer?.toString('latin1') === '\0',
    leftRunning: () => (trailer?.toString('utf8') ?? '').split('\n').flatMap((line) => line.trim() || []),
  }
}

/** How many bytes at the end may be the beginning of the mark. */
function overlap(bytes: Buffer, sign: Buffer): number {
  for (let length = Math.min(bytes.length, sign.length - 1); length > 0; length--)
    if (bytes.subarray(-length).equals(sign.subarray(0, length))) return length
  return 0
}

/**
 * Sets `found` to the processes in the session or with the mark, without the script's own. Not every grep reads past a NUL
 * byte; the `read` of a shell does, but is slow. All are stopped before the first is asked to end: otherwise a script would
 * continue with its next line when its program ends.
 */
const search = `nl='
'
sees=; printf 'a\\0b' | grep -q b && sees=1
marked() {
  case $m in *"/proc/$1/environ"*) return 0;; esac
  [ -z "$sees" ] || return 1
  while IFS= read -r e || [ -n "$e" ]; do case $e in *"$0"*) return 0;; esac; done 2>/dev/null < "/proc/$1/environ"
  return 1
}
search() {
  found=; m=
  [ -z "$sees" ] || m=$(grep -ls -- "$0" /proc/[0-9]*/environ)
  all=$(cat /proc/[0-9]*/stat 2>/dev/null)
  old=$IFS; IFS=$nl; set -f
  for l in $all; do
    IFS=' '; p=\${l%% *}
    set -- \${l##*) }
    case $1 in Z|X) continue;; esac
    [ "$p" != $$ ] && [ "$2" != $$ ] || continue
    if [ "$4" = "$session" ] || marked "$p"; then found="$found $p"; fi
  done
  IFS=$old; set +f
  [ -n "$found" ]
}
stop() {
  n=0
  while search && [ $n -lt 20 ]; do
    if [ $n -eq 0 ]; then kill -STOP $found; kill -TERM $found; kill -CONT $found; sleep 0.1
    elif [ $n -lt 4 ]; then sleep 0.3
    else kill -KILL $found; sleep 0.1; fi
    n=$((n+1))
  done 2>/dev/null
}
leads() { { IFS= read -r l < "/proc/$1/stat"; } 2>/dev/null && set -- "$1" \${l##*) } && [ "$5" = "$1" ]; }
`

/** Uses bash if it exists, because models write for it. A shell that does not lead a session must not end that session. */
const run = `unset LIBERO_RUN
${search}
cd "$2" 2>/dev/null || { printf '\\0%s\\n\\0' "$0" >&2; exit 126; }
if command -v bash >/dev/null 2>&1; then LIBERO_EXEC=$0 bash --norc -c -- "$1"; else LIBERO_EXEC=$0 sh -c "$1"; fi
code=$?
session=none; leads $$ && session=$$
left=; search && {
  for p in $found; do left="$left$(tr '\\0\\n' '  ' 2>/dev/null < /proc/$p/cmdline)$nl"; done
  stop
}
printf '\\0%s\\n%s' "$0" "$left" >&2
exit $code`

/** Finds the shell that leads the command by its command line. */
const end = `${search}
session=none
for d in /proc/[0-9]*; do
  p=\${d#/proc/}; l=
  { IFS= read -r l < "$d/cmdline"; } 2>/dev/null
  case $l in *'"$LIBERO_RUN"'"$0"*) leads "$p" && session=$p;; esac
done
stop`
