import { posix } from 'node:path'
import type { ReadCommand } from '../reading.ts'
import type { CommandFacts, ShellFacts } from '../shell-facts.ts'
import { absolutePath, locate, locator, type ShellLocation, withoutHome } from '../shell-location.ts'
import { gitVerb } from './git.ts'

/** Irreparable damage. */
interface Damage {
  readonly why: string
  /** A sandbox prevents it: the workspace and the caches at home stay as they are. */
  readonly isHarmlessInside: boolean
}

/** The irreparable damage a line could do at worst, in words. Needs an approval in every mode. */
export function catastrophic(
  facts: Pick<ShellFacts, 'isWhole' | 'obstacles' | 'commands' | 'words'>,
  location: ShellLocation,
): Damage | undefined {
  const damages = facts.commands.flatMap((command) => ofCommand(command, location) ?? [])
  const why = damages[0]?.why ?? ofLine(facts)
  if (why === undefined) return undefined
  return { why, isHarmlessInside: damages.length > 0 && damages.every(({ isHarmlessInside }) => isHarmlessInside) }
}

function ofLine(facts: Parameters<typeof catastrophic>[0]): string | undefined {
  if (isForkBomb(facts)) return 'it starts itself again and again, until nothing else can run'
  const hidden = facts.isWhole
    ? undefined
    : facts.words.find((word) => /^(.*\/)?(rm|dd|shred|mkfs(\..*)?|wipefs|shutdown|reboot|halt|poweroff)$/.test(word))
  return hidden && `it could not be read whole, and ${hidden} occurs in it`
}

function ofCommand({ command, effects }: CommandFacts, location: ShellLocation): Damage | undefined {
  const written = effects.filter(({ effect }) => effect === 'fs.write')
  const opened = command.redirects.filter(({ operator }) => operator === '<>' || !operator.startsWith('<'))
  const device = [...written, ...opened].map(({ target = '' }) => target).find(isDevice)
  if (device !== undefined) return beyond(`it may write over the device ${device}`)
  const [name = '', ...args] = command.words
  const program = name.slice(name.lastIndexOf('/') + 1)
  if (/^(mkfs(\..*)?|mke2fs|mkswap|wipefs|blkdiscard)$/.test(program)) return beyond(`${program} erases a disk`)
  if (/^(shutdown|reboot|halt|poweroff)$/.test(program)) return beyond(`${program} stops the machine`)
  if (/^(init|telinit)$/.test(program) && /^[06]$/.test(args[0] ?? ''))
    return beyond(`${program} ${args[0]} stops the machine`)
  if (program === 'systemctl' && args.some((word) => /^(poweroff|reboot|halt|kexec|emergency|rescue)$/.test(word)))
    return beyond('systemctl stops the machine')
  const isRecursive = args.some((word) => /^-[a-zA-Z]*[rR]|^--r/.test(word))
  if (program === 'rm' && isRecursive) return removal(args, command, location, 'everything')
  if (/^(chmod|chown|chgrp)$/.test(program) && isRecursive) return removal(args, command, location, 'system')
  if (program === 'mv')
    return removal(args.filter((word) => !/^-./.test(word)).slice(0, -1), command, location, 'everything')
  if (program === 'find' && args.some((word) => /^-(delete|exec|execdir|ok|okdir)$/.test(word)) && isRemoval(args)) {
    const starts = startsOf(args)
    // Without a test it applies to everything it finds.
    const isChosen = args.some((word) => /^-/.test(word) && !/^-(delete|depth|print|[HLP])$/.test(word))
    return removal(starts, command, location, isChosen ? 'system' : 'everything')
  }
  return program === 'git' ? gitClean(args, command, location) : undefined
}

const beyond = (why: string): Damage => ({ why, isHarmlessInside: true })

function isDevice(path: string): boolean {
  return /^\/dev\/(sd|hd|vd|xvd|nvme|mmcblk|r?disk|dm-|md|mapper\/|loop|k?mem$|port$)/.test(path)
}

/** `system`: changing the workspace itself does not count. */
function removal(
  words: readonly string[],
  { cwd }: ReadCommand,
  location: ShellLocation,
  extent: 'system' | 'everything',
): Damage | undefined {
  const end = words.indexOf('--')
  const paths = words.filter((word, at) => at !== end && ((end >= 0 && at > end) || !/^-./.test(word)))
  const where = locator(cwd, location)
  const isHomeInside = location.home !== undefined && isWithin(location.home, location.root)
  let first: Damage | undefined
  for (const path of new Set(paths)) {
    // The common case, possibly many times: a plainly named path inside the workspace.
    if (!isHomeInside && /^\w[\w.-]*(\/\w[\w.-]*)*$/.test(path) && where(path).isOutside === false) continue
    const lost = lossOf(path, cwd, location, extent)
    if (lost === undefined) continue
    first ??= beyond(`it removes or changes ${lost} (${path})`)
    const holder = absolutePath(withoutHome(emptied(path) ?? path), cwd, location)
    const isKnown = holder !== undefined && !/[*?[{]/.test(holder)
    const isSpared = isKnown && ![location.root, location.home ?? '/'].some((kept) => isWithin(kept, holder))
    if (!isSpared) return { ...first, isHarmlessInside: false }
  }
  return first
}

function lossOf(
  path: string,
  cwd: string | undefined,
  location: ShellLocation,
  extent: 'system' | 'everything',
): string | undefined {
  const inHome = path.replace(/^\$(HOME|\{HOME\})(?=\/|$)/, '~')
  // Variables may expand to nothing.
  const bare = inHome.replace(/\$\{[^}]*\}?|\$\([^)]*\)?|\$\w+|\$.?|`[^`]*`?/g, '')
  if (bare !== inHome && !/[^/*?.]/.test(bare)) return 'what only the running shell knows, which may be everything'
  const folder = emptied(bare)
  if (folder === '/*') return 'the whole system'
  if (folder === undefined) return undefined
  if (/^~[^/]*\/?$/.test(folder)) return 'a home folder'
  const absolute = absolutePath(folder, cwd, location)
  if (absolute === undefined) return folder === bare ? undefined : 'all of a folder that is not known'
  if (absolute === '/') return 'the whole system'
  if (systemFolder.test(absolute)) return 'a folder of the system'
  if (location.home !== undefined && isWithin(location.home, absolute)) return 'a home folder'
  if (!isWithin(location.root, absolute)) return undefined
  if (posix.relative(location.root, absolute) !== '') return 'a folder that holds the workspace'
  return extent === 'everything' ? 'the whole workspace' : undefined
}

const systemFolder =
  /^\/(bin|boot|dev|etc|home|lib|lib64|opt|proc|root|sbin|srv|sys|usr|var|Users|System|Library|Applications|Volumes)$/

/** The folder that a path empties or removes: `a` for `a/*`. Undefined if a pattern excludes something. */
function emptied(path: string): string | undefined {
  const parts = path.split('/')
  const at = parts.findIndex((part) => /[*?[{]/.test(part))
  if (at < 0) return path
  if (at === 1 && parts[0] === '') return '/*'
  const isLast = parts.slice(at + 1).every((part) => part === '')
  if (!isLast || !/^[*?.[\]{},!^]+$/.test(parts[at]!)) return undefined
  return parts.slice(0, at).join('/') || '.'
}

function isWithin(path: string, folder: string): boolean {
  return !/^\.\.(\/|$)/.test(posix.relative(folder, path))
}

function isRemoval(args: readonly string[]): boolean {
  return args.includes('-delete') || args.some((word) => /^(.*\/)?(rm|shred|unlink|rmdir)$/.test(word))
}

function startsOf(args: readonly string[]): string[] {
  const from = args.findIndex((word) => !/^-[HLP]$/.test(word))
  const rest = args.slice(Math.max(from, 0))
  const end = rest.findIndex((word) => /^[-!(]/.test(word))
  const starts = end < 0 ? rest : rest.slice(0, end)
  return starts.length === 0 ? ['.'] : starts
}

function gitClean(args: readonly string[], command: ReadCommand, location: ShellLocation): Damage | undefined {
  const { options, verb, rest } = gitVerb(args)
  const isForced = rest.some((word) => /^-[a-zA-Z]*f|^--f/.test(word))
  if (verb !== 'clean' || !isForced) return undefined
  const elsewhere = options.indexOf('-C')
  const start = elsewhere < 0 ? '.' : (options[elsewhere + 1] ?? '.')
  const paths = [start, ...rest.filter((word) => !word.startsWith('-'))]
  const found = paths.find((path) => locate(path, command.cwd, location).isOutside)
  if (found === undefined) return undefined
  return { why: `git clean removes files outside of the workspace (${found})`, isHarmlessInside: false }
}

/** `f() { f | f & }; f`: a function and, inside and outside of it, the same lone word. */
function isForkBomb({ obstacles, commands }: Pick<ShellFacts, 'obstacles' | 'commands'>): boolean {
  if (!obstacles.some((obstacle) => obstacle.includes('function'))) return false
  const lone = commands.map(({ command }) => command).filter(({ words }) => words.length === 1)
  const outside = new Set(lone.filter(({ isNested }) => !isNested).map(({ words }) => words[0]!))
  const inside = lone.filter(({ isNested, words }) => isNested && outside.has(words[0]!)).map(({ words }) => words[0]!)
  return new Set(inside).size < inside.length
}
