import { existsSync } from 'node:fs'

/** What a command may use at most, by the `ulimit` of its shell. */
export interface CommandLimits {
  /** All processes of this user count, not only those of the command. Root is not held by it. */
  readonly processes?: number
  /** Address space of each process. Some runtimes reserve far more than they use. */
  readonly memoryMb?: number
  /** Of each file that is written. */
  readonly fileSizeMb?: number
}

/** Turns a command into the program and arguments that run it. */
export type CommandShell = (command: string) => { file: string; args: string[] }

/** Bash where there is one: it is what models write for. The look for it is done here, once. */
export function commandShell(limits: CommandLimits = {}): CommandShell {
  const bash = ['/bin/bash', '/usr/bin/bash'].find((path) => existsSync(path))
  const shell = bash ?? '/bin/sh'
  // Given a socket to read from, bash takes itself for a remote login and would read .bashrc.
  const flags = bash ? '--norc -c --' : '-c --'
  const script = `${preparation}${limitLines(limits, bash !== undefined)}exec "$0" ${flags} "$1"`
  // The limits need a shell whose units we know; without them the smaller one starts faster.
  const file = Object.keys(limits).length > 0 ? shell : '/bin/sh'
  return (command) => ({ file, args: ['-c', script, shell, command] })
}

/** No core dumps; and when memory runs out, the system takes the command rather than us. */
const preparation = 'ulimit -c 0; { echo 500 >/proc/self/oom_score_adj; } 2>/dev/null; '

/** A limit that is stricter already stays; one that cannot be set is no limit, and nothing runs. */
const setLimit = `limit() {
  now=$(ulimit "$1" 2>/dev/null)
  case $now in *[!0-9]*|'') ;; *) [ "$now" -gt "$2" ] || return 0 ;; esac
  ulimit "$1" "$2" 2>/dev/null && return
  echo "The limit $3 cannot be set on this system; leave it out" >&2
  exit 126
}
`

function limitLines({ processes, memoryMb, fileSizeMb }: CommandLimits, isBash: boolean): string {
  const blocksPerMb = isBash ? 1024 : 2048
  const lines = [
    processes === undefined ? '' : `limit ${isBash ? '-u' : '-p'} ${processes} processes\n`,
    memoryMb === undefined ? '' : `limit -v ${memoryMb * 1024} memoryMb\n`,
    fileSizeMb === undefined ? '' : `limit -f ${fileSizeMb * blocksPerMb} fileSizeMb\n`,
  ].join('')
  return lines && setLimit + lines
}
