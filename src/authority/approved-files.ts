import { homedir } from 'node:os'
import { posix } from 'node:path'
import type { Decision } from '../core/authority.ts'
import type { ToolDef } from '../core/tool.ts'
import { digestOfJson } from '../platform/canonical-json.ts'
import { type FileLocation, readAll } from '../platform/files-of.ts'
import type { PlannedWrite } from '../platform/planned-writes.ts'
import type { ReadCommand } from '../shell/reading.ts'
import { absent, boundFiles, digestsOf } from './bound-files.ts'
import { filesProgramReads, modulesOf, pythonModulesOf } from './files-programs-read.ts'
import type { JudgedCall } from './judged-call.ts'
import { isNear, withCommandFile } from './open-as-command.ts'
import { touchesOf, type Workspace } from './prepare-call.ts'

/**
 * The digest a person approves: the call, what it can reach, and the current content of the files it changes or runs. A
 * file that the call itself has written, before its process died, counts as it was before.
 */
export async function digestToApprove(
  tool: ToolDef,
  call: JudgedCall,
  { confinement }: Decision,
  workspace: Workspace,
  written?: PlannedWrite,
): Promise<string> {
  const changed = touchesOf(tool, call.input)
    .filter(({ access }) => access === 'write' || access === 'edit')
    .map(({ path }) => path)
  const paths = [...changed, ...(await approvedFiles(call, workspace))]
  if (paths.length === 0 && confinement === undefined) return call.digest
  const digests = await digestsOf(paths, workspace)
  if (written && digests[written.path] === written.after) digests[written.path] = written.before ?? absent
  return digestOfJson([call.digest, digests, ...(confinement ? [confinement] : [])])
}

/**
 * The files that decide what an approved line does, absolute: those it names, those its programs read by themselves, and
 * those that these name in turn. Files further away are not found: what a library imports, or a path that a script puts
 * together.
 */
async function approvedFiles(call: JudgedCall, workspace: Workspace): Promise<string[]> {
  const { shell, cwd = workspace.root } = call
  const bound = boundFiles(call)
  if (!shell || (shell.isWhole && shell.commands.every(({ isReadOnly }) => isReadOnly))) return bound
  const named = new Set(bound)
  const near = workspace.location && isNear(workspace.location) ? workspace.location : undefined
  const most = near ? mostNear : mostFar
  const add = (folder: string, paths: Iterable<string>): void => {
    for (const path of paths) {
      if (named.size >= most) return
      if (isPath(path)) named.add(posix.resolve(folder, atHome(path)))
    }
  }
  for (const { command } of shell.commands) add(posix.resolve(cwd, command.cwd ?? '.'), filesOf(command))
  add(cwd, pathsInAll(shell.words))
  if (!near) return [...named]
  for (const path of [...named]) {
    const inner = await namedIn(path, near)
    for (const folder of [posix.dirname(path), cwd]) add(folder, inner)
  }
  return [...named]
}

/** More than any line needs. Each is opened, which takes long outside this machine. */
const mostNear = 1000
const mostFar = 24

const atHome = (path: string): string => path.replace(/^~(?=\/)/, homedir())

const isPath = (word: string): boolean => word !== '' && word.length <= 1024 && !/[\0\n*?$`]/.test(word)

/** One by one: a line may have a hundred thousand words, and the first ones are enough. */
function* filesOf({ words, redirects }: ReadCommand): Generator<string, void> {
  const [program = '', ...rest] = words
  if (program.includes('/')) yield program
  yield* pathsInAll(rest)
  for (const { operator, target } of redirects) if (operator === '<' && target !== undefined) yield target
  yield* filesProgramReads(program, [...pathsInAll(rest)])
}

function* pathsInAll(words: readonly string[]): Generator<string, void> {
  for (const word of words) yield* pathsIn(word)
}

/** The paths that a word may contain: `x`, `--flag=x`, `-fx`, `NAME=x`, `@x`. */
function pathsIn(word: string): string[] {
  const value = word.slice(word.indexOf('=') + 1)
  const attached = /^-[A-Za-z](.+)/.exec(word)?.[1]
  const plain = word.startsWith('-') ? [] : [word.replace(/^@/, '')]
  return [...new Set([...plain, ...(value === word ? [] : [value]), ...(attached === undefined ? [] : [attached])])]
}

/** The files that a script or a definition names. */
async function namedIn(path: string, location: FileLocation): Promise<string[]> {
  const text = await withCommandFile(location, path, async (file) =>
    file.info.size > longestScript ? '' : Buffer.from(await readAll(file)).toString('utf8'),
  ).catch(() => '')
  if (text === '' || text.includes('\0')) return []
  const paths = path.endsWith('.py') ? pythonImports(text) : [...imports(text), ...pathWords(text)]
  return [...new Set(paths)].slice(0, mostInFile)
}

const longestScript = 256 * 1024
const mostInFile = 200

/**
 * Words with a slash or an ending, as in `sh ./build.sh` or `include rules.mk`; for `${DIR}/a.sh`, the part after the
 * variable.
 */
function pathWords(text: string): string[] {
  const words = text.match(/[\w@+.~/-]{2,200}/g) ?? []
  return words.flatMap((word) => {
    if (!/\/|\.[a-z]\w{0,4}$/i.test(word)) return []
    return word.startsWith('/') ? [word, word.slice(1)] : [word]
  })
}

function imports(text: string): string[] {
  const found = text.matchAll(/(?:\bfrom|\bimport|\brequire\s*\(|\bimport\s*\()\s*['"](\.{1,2}\/[^'"\n]{1,200})['"]/g)
  return Array.from(found, ([, path = '']) => path).flatMap((path) => [path, ...modulesOf(path)])
}

function pythonImports(text: string): string[] {
  const found = text.matchAll(/^[ \t]*(?:from|import)[ \t]+\.{0,3}([\w.]{1,100})/gm)
  return Array.from(found, ([, name = '']) => name).flatMap(pythonModulesOf)
}
