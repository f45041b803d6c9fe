import { posix } from 'node:path'
import { shellQuote } from '../../core/execution.ts'
import type { ToolContext } from '../../core/tool.ts'
import { safeGitEnv, safeGitOptions } from '../../platform/safe-git.ts'
import { visibleName, visibleText } from '../../platform/visible-text.ts'

interface GitRequest {
  readonly args: readonly string[]
  /** Default: where the agent's tools work. */
  readonly folder: string | undefined
  /** Git is stopped after this output. */
  readonly maxBytes: number
}

interface GitOutput {
  readonly text: string
  /** There was more than `maxBytes`. */
  readonly isCut: boolean
}

/** Runs a git command that only reads, so that no setting of the repository can run a program. Throws git's error. */
export async function runGit({ args, folder, maxBytes }: GitRequest, ctx: ToolContext): Promise<GitOutput> {
  const { execution, handle, signal } = ctx
  if (!execution.capabilities.shell)
    throw new Error(`git cannot be run here: the execution context "${execution.type}" has no shell`)
  const wrong = args.find((arg) => arg.includes('\0'))
  if (wrong !== undefined) throw new Error('a NUL character is in what git is asked for; take it out')
  const enough = new AbortController()
  const printed = { text: '', errors: '' }
  const receive = (text: string, from: 'stdout' | 'stderr'): void => {
    if (from === 'stderr') printed.errors = (printed.errors + text).slice(0, mostErrorText)
    else if (printed.text.length <= maxBytes) printed.text += text
    if (printed.text.length > maxBytes) enough.abort()
  }
  const line = `${ownRepositoryScript}exec ${['git', ...safeGitOptions, ...args].map(shellQuote).join(' ')}`
  const ended = await execution
    .exec(handle, line, {
      timeout: limitMs,
      signal: AbortSignal.any([signal, enough.signal]),
      env: safeGitEnv,
      onOutput: receive,
      ...(folder !== undefined && { cwd: folder }),
    })
    .catch((error) => {
      if (enough.signal.aborted && !signal.aborted) return undefined
      throw error
    })
  signal.throwIfAborted()
  // Some execution contexts return the output at the end only.
  if (ended) receive(ended.stdout, 'stdout')
  if (ended) receive(ended.stderr, 'stderr')
  const isCut = printed.text.length > maxBytes
  if (isCut) return { text: printed.text.slice(0, maxBytes), isCut }
  if (ended?.timedOut) throw new Error(`git took longer than ${limitMs / 1000} s and was ended; ask for less`)
  if (ended?.exitCode === 0) return { text: printed.text, isCut }
  throw new Error(problemOf(ended?.exitCode ?? null, printed.errors))
}

const limitMs = 20_000
const mostErrorText = 4000

const foreignCode = 77
const foreign =
  'the .git of this folder leads to another repository, which does not know this folder, and is not read; tell the user'

/**
 * A foreign folder may have a .git that points to a private repository elsewhere. Worktrees and submodules are registered
 * in the repository they belong to. Borrowed objects (alternates) are not checked.
 */
const ownRepositoryScript = `
if facts=$(git ${safeGitOptions.map(shellQuote).join(' ')} rev-parse --show-toplevel --absolute-git-dir --git-common-dir 2>/dev/null); then
  { read -r top; read -r dir; read -r common; } <<end
$facts
end
  common=$(cd -- "$common" && pwd -P)
  known=no
  if [ "$dir" = "$common" ]; then
    if [ "$dir" = "$top/.git" ] || git config --file "$dir/config" core.worktree >/dev/null 2>&1; then known=yes; fi
  elif [ -f "$dir/gitdir" ] && [ "$(head -n 1 -- "$dir/gitdir")" = "$top/.git" ]; then
    case $dir in "$common"/worktrees/*) known=yes ;; esac
  fi
  if [ "$known" = no ] || [ -L "$common/objects" ]; then echo ${shellQuote(foreign)} >&2; exit ${foreignCode}; fi
fi
`

function problemOf(exitCode: number | null, errors: string): string {
  if (exitCode === foreignCode) return foreign
  if (exitCode === 127) return 'git is not installed where the tools run'
  if (/not a git repository/i.test(errors)) return 'this folder is not in a git repository, so it has no history'
  if (/(bad revision|ambiguous argument|not a valid object name) '?HEAD\b(?:\^\{commit\})?(?![~^@:])/i.test(errors))
    return 'the repository has no commits yet'
  const said = visibleText(errors.trim()).slice(0, 500)
  return `git failed (exit ${exitCode ?? 'by a signal'})${said === '' ? '' : `: ${said}`}`
}

/** The path for git; throws on one that leads out of the folder. */
export function innerPath(path: string): string {
  const shown = visibleName(path.slice(0, 200))
  if (path === '' || path.length > longestPath) throw new Error(`"${shown}" is no path; name a file in the repository`)
  const plain = posix.normalize(path)
  if (posix.isAbsolute(plain) || plain === '..' || plain.startsWith('../'))
    throw new Error(`"${shown}" leads out of the folder; give a path relative to it, without ".."`)
  return plain
}

const longestPath = 4096
