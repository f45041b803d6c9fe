import { closeSync, constants, type Dirent, fstatSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { codeOf } from '../../core/errors.ts'
import { realPathOf } from '../files/confined-path.ts'
import { type GitSetting, gitSettings, mostSettings } from './git.ts'
import { gitPlaceAt, pathFrom } from './git-folder.ts'

/** A config or a folder of hooks by which git would run programs, or read further settings. */
export interface ProgramSource {
  readonly path: string
  /** Which settings and hooks. */
  readonly names: readonly string[]
  /** A config without those settings; absent for hooks. */
  readonly rest?: string
}

/** What makes git run programs at a `.git` path or a bare repository, in files that may have changed. */
export function programSources(git: string, mayBeChanged: (path: string) => boolean): ProgramSource[] {
  const { own, common } = gitPlaceAt(realPathOf(git))
  const workTree = basename(git) === '.git' ? realPathOf(dirname(git)) : undefined
  const isOwnTree = (value: string): boolean => pathFrom(own, value) === workTree
  const configs = [join(common, 'config'), join(own, 'config.worktree')]
  return [
    ...configs.filter(mayBeChanged).flatMap((path) => configAt(path, isOwnTree)),
    ...[join(common, 'hooks')].filter(mayBeChanged).flatMap(hooksAt),
  ]
}

function configAt(path: string, isOwnTree: (value: string) => boolean): ProgramSource[] {
  const text = wholeText(path)
  const settings = text === undefined ? undefined : gitSettings(text)
  if (!settings || settings.length >= mostSettings)
    return [{ path, names: [`${basename(path)}, which cannot be read whole`], rest: '' }]
  const isRunning = ({ key, value }: GitSetting): boolean =>
    key === 'core.worktree' ? !isOwnTree(value) : runs(key, value)
  const names = settings.filter(isRunning).map(({ key }) => key)
  if (names.length === 0) return []
  const rest = settings.filter((one) => !isRunning(one)).map(textOf)
  return [{ path, names: [...new Set(names)], rest: rest.join('') }]
}

function hooksAt(path: string): ProgramSource[] {
  const hooks = entriesOf(path).filter((entry) => !entry.isDirectory() && !entry.name.endsWith('.sample'))
  return hooks.length === 0 ? [] : [{ path, names: hooks.map(({ name }) => `hooks/${name}`) }]
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
