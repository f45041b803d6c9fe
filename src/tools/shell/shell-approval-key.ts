import { boundedKey } from '../approval-keys.ts'
import { isSafeBesideOthers } from './shell-safety.ts'
import { tokensOf } from './shell-words.ts'

/**
 * What an approval of a command is remembered under: its program, with its verb where it has many. Whatever can run
 * something else (an interpreter, a chain, a flag that starts programs) is approved only word by word.
 */
export function shellApprovalKey(command: string, cwd?: string): string {
  const key = kindOf(command) ?? command.trim()
  return boundedKey(cwd === undefined ? key : `${JSON.stringify(cwd)} ${key}`)
}

function kindOf(command: string): string | undefined {
  const words = command.length > longestCommand ? undefined : tokensOf(command)
  const [program, verb] = words ?? []
  if (!words || !program) return undefined
  if (words.some(({ isOperator, code, variable }) => isOperator || code || variable)) return undefined
  if (!isName.test(program.text) || runsOthers.has(program.text)) return undefined
  if (readsUnlessTold.has(program.text) && !isSafeBesideOthers(command)) return undefined
  if (!hasVerbs.has(program.text)) return program.text
  if (!verb || !isName.test(verb.text) || verbsThatRun.has(verb.text)) return undefined
  return words.some(({ text }) => flagsThatRun.test(text)) ? undefined : `${program.text} ${verb.text}`
}

const longestCommand = 8192
const isName = /^[A-Za-z_][\w.+-]*$/

const runsOthers =
  setOf(`sh bash dash zsh ksh csh tcsh fish node deno tsx python python2 python3 perl ruby php lua awk gawk
  mawk nawk sed env xargs sudo doas su ssh npx pnpx bunx uvx make eval exec source command builtin nohup nice time timeout
  stdbuf setsid strace watch parallel entr tar zip sqlite3 vi vim emacs export declare alias trap set split sort dd tee`)
const hasVerbs = setOf('git npm pnpm yarn bun docker podman cargo pip pip3 uv go kubectl brew apt apt-get systemctl gh')
const verbsThatRun = setOf('exec run run-script x dlx create init bisect submodule filter-branch config difftool')
const flagsThatRun = /^(-c$|-x$|--(exec|ext|output|upload-pack|receive-pack|config|template|open-files))/
/** Whose arguments decide whether they only read. */
const readsUnlessTold = setOf('find fd rg tree file date')

function setOf(names: string): ReadonlySet<string> {
  return new Set(names.split(/\s+/))
}
