import { closeSync, constants, type Dirent, fstatSync, lstatSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { codeOf } from '../../core/errors.ts'
import { realPathOf } from '../files/confined-path.ts'
import { type GitSetting, gitSettings, mostSettings } from './git.ts'
import { gitPlaceAt, isGitFolder, pathFrom } from './git-folder.ts'
import { isInside } from './protected-paths.ts'

/** A config or a folder of hooks by which git would run programs, or read further settings. */
export interface ProgramSource {
  readonly path: string
  /** Which settings and hooks. */
  readonly names: readonly string[]
  /** A config without those settings; absent for hooks. */
  readonly rest?: string
}

/** What makes git run programs at a `.git` path, a bare repository or the git folder of a submodule, in files that may have changed. */
export function programSources(
  git: string,
  { mayBeChanged, outerTree }: { mayBeChanged(path: string): boolean; readonly outerTree?: string | undefined },
): ProgramSource[] {
  const { own, common } = gitPlaceAt(realPathOf(git))
  const tree = basename(git) === '.git' ? realPathOf(dirname(git)) : undefined
  // A submodule that is not checked out has its git folder alone.
  const isOwnTree = (value: string): boolean => {
    const found = pathFrom(own, value)
    return found === tree || (outerTree !== undefined && found !== outerTree && isInside(outerTree, found))
  }
  const configs = [join(common, 'config'), join(own, 'config.worktree')]
  return [
    ...configs.filter(mayBeChanged).flatMap((path) => configAt(path, isOwnTree)),
    ...[join(common, 'hooks')].filter(mayBeChanged).flatMap(hooksAt),
  ]
}

/** The git folders of submodules, which git obeys when they are checked out later; too many are taken away as a whole. */
export function submodulesOf(
  git: string,
  mayBeChanged: (path: string) => boolean,
): { readonly found: readonly string[]; readonly tooMany: readonly ProgramSource[] } {
  const top = join(gitPlaceAt(realPathOf(git)).common, 'modules')
  const nothing = { found: [], tooMany: [] }
  if (!mayBeChanged(top)) return nothing
  if (isLink(top)) return { found: [], tooMany: [{ path: top, names: ['modules, which is a link'] }] }
  const found: string[] = []
  const waiting = [top]
  for (let looked = 0, at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    if (++looked > mostFolders)
      return { found: [], tooMany: [{ path: top, names: ['modules, too many to be searched'] }] }
    const entries = entriesOf(at)
    const isRepository = isGitFolder((name) => entries.some((entry) => entry.name === name))
    if (isRepository) found.push(at)
    // A submodule may be named `a/b`, and be in one that is named `a`.
    const further = entries.filter((entry) => entry.isDirectory() && !(isRepository && ofGit.has(entry.name)))
    waiting.push(...further.map(({ name }) => join(at, name)))
  }
  return { found, tooMany: [] }
}

const mostFolders = 2_000
const ofGit = new Set(['objects', 'refs', 'logs', 'hooks', 'info', 'branches', 'worktrees', 'lfs', 'rr-cache'])

function configAt(path: string, isOwnTree: (value: string) => boolean): ProgramSource[] {
  const text = wholeText(path)
  const settings = text === undefined ? undefined : gitSettings(text)
  if (!settings || settings.length >= mostSettings)
    return [{ path, names: [`${basename(path)}, which cannot be read whole`], rest: '' }]
  const isRunning = ({ key, value }: GitSetting): boolean =>
    key === 'core.worktree' ? !isOwnTree(value) : runs(key, value)
  const names = settings.filter(isRunning).map(({ key }) => key)
  names.push(...linkAt(path))
  if (names.length === 0) return []
  const rest = settings.filter((one) => !isRunning(one)).map(textOf)
  return [{ path, names: [...new Set(names)], rest: rest.join('') }]
}

function hooksAt(path: string): ProgramSource[] {
  const hooks = entriesOf(path).filter((entry) => !entry.isDirectory() && !entry.name.endsWith('.sample'))
  const names = [...linkAt(path), ...hooks.map(({ name }) => `hooks/${name}`)]
  return names.length === 0 ? [] : [{ path, names }]
}

/** Where it leads to in the end is protected, and not the links on the way. */
const linkAt = (path: string): string[] => (isLink(path) ? [`${basename(path)}, which is a link`] : [])

function isLink(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false
  } catch {
    return false
  }
}

function runs(key: string, value: string): boolean {
  if (key === 'core.fsmonitor') return !/^(true|false|)$/.test(value)
  if (/^submodule\..*\.update$/s.test(key)) return !/^(checkout|rebase|merge|none|)$/.test(value)
  return runningKeys.test(key)
}

/** Keys in lower case, with the subsection between dots. The last two lines are of programs that git starts, and cookies that it writes. */
const runningKeys = new RegExp(
  `^(${[
    String.raw`core\.(hookspath|sshcommand|pager|editor|askpass|gitproxy|attributesfile|alternaterefscommand)`,
    String.raw`alias\..+|pager\..+|sequence\.editor|interactive\.difffilter|include(if)?\.(.*\.)?path|diff\.external`,
    String.raw`uploadpack\.packobjectshook|gc\.recentobjectshook|credential\.(.*\.)?helper`,
    String.raw`gpg\.(.*\.)?program|remote\..*\.(uploadpack|receivepack|vcs)|protocol\.(.*\.)?allow|init\.templatedir`,
    String.raw`.*\.(cmd|command|defaultkeycommand|textconv|driver|clean|smudge|process|sendpack)`,
    String.raw`(man|browser|mergetool|difftool|guitool)\..*\.path|instaweb\..+|imap\.tunnel|lfs\.customtransfer\..+`,
    String.raw`sendemail\.(.*\.)?(smtpserver|sendmailcmd|tocmd|cccmd|headercmd)|http\.(.*\.)?(cookiefile|savecookies)`,
  ].join('|')})$`,
  's',
)

/** As git writes it. A setting without a value is left out: whether it had a `=` is not known. */
function textOf({ key, value }: GitSetting): string {
  const [, section = '', subsection, name = ''] = /^([^.]*)\.(?:(.*)\.)?([^.]*)$/s.exec(key) ?? []
  if (value === '' || section === '') return ''
  const quoted = value.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\t', '\\t').replaceAll('\b', '\\b')
  return `[${section}${subsection === undefined ? '' : ` "${subsection}"`}]\n\t${name} = "${quoted}"\n`
}

const { O_RDONLY, O_NONBLOCK = 0 } = constants
const mostBytes = 256 * 1024

/** Empty if git finds no file there; undefined if it may find more in it than this does. */
function wholeText(path: string): string | undefined {
  let fd: number | undefined
  try {
    fd = openSync(path, O_RDONLY | O_NONBLOCK)
    const stats = fstatSync(fd)
    if (stats.isDirectory()) return ''
    return stats.isFile() && stats.size <= mostBytes ? readFileSync(fd, 'utf8') : undefined
  } catch (error) {
    return ['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '') ? '' : undefined
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}
