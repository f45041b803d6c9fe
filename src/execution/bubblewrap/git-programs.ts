import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { textStart } from '../../platform/text-start.ts'
import { gitSettings } from './git.ts'

/** The settings and hooks of a git folder that make git run programs, or read further settings. */
export function programsNamedBy(git: string): string[] {
  const named = gitSettings(textOf(join(git, 'config'))).filter(({ key, value }) => runs(key, value))
  const hooks = namesIn(join(git, 'hooks')).filter((name) => !name.endsWith('.sample'))
  return [...new Set([...named.map(({ key }) => key), ...hooks.map((name) => `hooks/${name}`)])]
}

function runs(key: string, value: string): boolean {
  if (key === 'core.fsmonitor') return !/^(true|false|)$/.test(value)
  return runningKeys.test(key)
}

/** Keys in lower case, with the subsection between dots. */
const runningKeys =
  /^(core\.(hookspath|sshcommand|pager|editor|askpass|gitproxy|worktree|attributesfile|alternaterefscommand)|alias\..+|pager\..+|sequence\.editor|interactive\.difffilter|include(if)?\.(.*\.)?path|diff\.external|uploadpack\.packobjectshook|gc\.recentobjectshook|submodule\..*\.update|credential\.(.*\.)?helper|gpg\.(.*\.)?program|remote\..*\.(uploadpack|receivepack|vcs)|protocol\..*|init\.templatedir|.*\.(cmd|command|defaultkeycommand|textconv|driver|clean|smudge|process|sendpack))$/s

const mostText = 1024 * 1024

const textOf = (path: string): string => textStart(path, mostText)

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
