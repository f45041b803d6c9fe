import { randomBytes } from 'node:crypto'
import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { shellQuote } from '../../core/execution.ts'
import { type GitSetting, gitSettings } from './git.ts'

/** Brings back a protected file that a command could have written because its mount was gone. */
export interface Restoration {
  /** Must be run in the sandbox, where links cannot lead outside. */
  readonly script: string
  /** Its standard input: the content to bring back. */
  readonly input?: Uint8Array
  readonly note: string
}

interface KeptFile {
  readonly content: Buffer
  readonly mode: number
}

/**
 * Reads the protected files before a command. Later would be too late: while another program replaces a file, the system takes
 * the mount away first, and for that moment the command can open the old file too.
 */
export function keepFiles(paths: readonly string[]): (lost: readonly string[]) => Restoration[] {
  const before = new Map(paths.map((path) => [path, fileAt(path)]))
  return (lost) => lost.filter((path) => before.has(path)).flatMap((path) => restoration(path, before.get(path)))
}

/** Whether the new content is from the other program or from the command cannot be told, so it is set aside, unless it is harmless. */
function restoration(path: string, old: KeptFile | undefined): Restoration[] {
  if (!lstatSync(path, { throwIfNoEntry: false })) return [] // the other program removed it
  const now = fileAt(path)
  if (old && now && (old.content.equals(now.content) || isHarmless(path, old.content, now.content))) return []
  const aside = asideOf(path)
  const move = `mv -- ${shellQuote(path)} ${shellQuote(aside)}`
  const kept = `what was put there meanwhile is in ${aside}; compare them`
  if (!old) return [{ script: move, note: `${path} was taken away again: it is protected, and ${kept}` }]
  const write = `cat > ${shellQuote(path)} && chmod ${old.mode.toString(8)} ${shellQuote(path)}`
  const note = `${path} is as before the command again: ${kept}`
  return [{ script: `${move} && ${write}`, input: old.content, note }]
}

/** Where something is kept that was put at a protected path. */
export const asideOf = (path: string): string => `${path}.replaced-${randomBytes(4).toString('hex')}`

const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants
const mostBytes = 1024 * 1024

/** Undefined if it is not a file, or larger than such files are. */
function fileAt(path: string): KeptFile | undefined {
  let fd: number | undefined
  try {
    fd = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    const found = fstatSync(fd)
    if (!found.isFile() || found.size > mostBytes) return undefined
    return { content: readFileSync(fd), mode: found.mode & 0o777 }
  } catch {
    return undefined
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

/** What git itself notes about branches, by `git push -u` or `git branch -d`: it runs nothing and names no new remote. */
function isHarmless(path: string, before: Buffer, now: Buffer): boolean {
  if (basename(path) !== 'config') return false
  const [old, present] = [gitSettings(before.toString()), gitSettings(now.toString())]
  const textOf = ({ key, value }: GitSetting): string => `${key}\n${value}`
  const [oldTexts, texts] = [new Set(old.map(textOf)), new Set(present.map(textOf))]
  const remotes = new Set(['.', ...old.flatMap(({ key }) => /^remote\.(.+)\.url$/s.exec(key)?.[1] ?? [])])
  const changed = [
    ...present.filter((one) => !oldTexts.has(textOf(one))),
    ...old.filter((one) => !texts.has(textOf(one))),
  ]
  return changed.every(({ key, value }) =>
    /^branch\..+\.remote$/s.test(key)
      ? remotes.has(value)
      : /^branch\..+\.(merge|rebase|vscode-merge-base)$/s.test(key),
  )
}
