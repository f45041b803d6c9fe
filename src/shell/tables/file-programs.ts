import { isLoose } from './flags.ts'
import { alwaysReads, type Program, plain, type ReadArguments, reads, type Word } from './program.ts'

/** Programs that list or find files and folders, or show their attributes. */
export const filePrograms: Readonly<Record<string, Program>> = {
  ls: alwaysReads(
    'aAbBcCdDfFgGhHiI:klLmnNopqQrRsStT:uUvw:xXZ1',
    'all almost-all author escape block-size: ignore-backups color? directory classify? file-type format: full-time group-directories-first no-group human-readable si dereference dereference-command-line hide: hyperlink? indicator-style: inode ignore: kibibytes literal numeric-uid-gid hide-control-chars quote-name quoting-style: reverse recursive size sort: time: time-style: width: context zero',
    { readsHere: true },
  ),
  find: reads(readFind, { writes: findWrites, startsNothing: true, forgets: true }),
  stat: alwaysReads('c:fLtx', 'dereference file-system format: printf: terse'),
  // -C writes, -z starts decompressors, -m and -f read lists of other files.
  file: reads({
    short: 'bhiIkLNr0F:',
    long: 'brief mime mime-type mime-encoding extension dereference no-dereference no-pad raw print0 separator:',
  }),
  du: alwaysReads(
    '0abB:cd:DhHkLlmPsSt:xX<',
    'all apparent-size block-size: bytes total max-depth: human-readable si dereference one-file-system summarize separate-dirs threshold: exclude: exclude-from< time? null inodes',
    { readsHere: true },
  ),
  df: alwaysReads(
    'aB:hHiklmPt:Tx:',
    'all block-size: human-readable si inodes local output? portability total type: print-type exclude-type:',
  ),
  which: reads({ short: 'as', long: 'all', words: 'text' }),
  basename: alwaysReads('as:z', 'multiple suffix: zero', { words: 'text' }),
  dirname: alwaysReads('z', 'zero', { words: 'text' }),
  realpath: alwaysReads(
    'eLmPqsz',
    'canonicalize-existing canonicalize-missing logical physical quiet relative-to: relative-base: strip no-symlinks zero',
  ),
  readlink: alwaysReads('efmnqsvz', 'canonicalize canonicalize-existing canonicalize-missing no-newline zero'),
  // -o writes, and -R starts tree again with -o. Older ones read on in a bundle after a flag that takes a value.
  tree: reads({
    short: 'aACdDfFghiI:JlL:nNpP:qQrsStuUvxX',
    long: 'dirsfirst filesfirst noreport prune filelimit: du si gitignore charset: matchdirs ignore-case inodes device timefmt: sort?',
    readsHere: true,
    valuesApart: true,
  }),
}

const bare = new Set(
  '-a -and -o -or -not ! ( ) , -print -print0 -ls -prune -quit -true -false -depth -d -mount -xdev -empty -readable -writable -executable -nouser -nogroup -daystart -follow -noleaf -warn -nowarn -ignore_readdir_race -noignore_readdir_race'.split(
    ' ',
  ),
)
const valued = new Set(
  '-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -lname -ilname -type -xtype -size -mtime -mmin -atime -amin -ctime -cmin -used -perm -user -group -uid -gid -links -inum -fstype -maxdepth -mindepth -printf'.split(
    ' ',
  ),
)

/** find, whose expression may test and print. -exec, -ok, -delete, -fprint, -fls and their kin are not in the lists. */
function readFind(given: readonly Word[]): ReadArguments | string {
  const loose = given.find(isLoose)
  if (loose) return `${loose.text} may turn into an action: file names begin as they like`
  const isExpression = ({ text }: Word): boolean => text.startsWith('-') || /^[!(),]$/.test(text)
  let at = 0
  while (/^-[HLP]$/.test(given[at]?.text ?? '')) at++
  const reads: string[] = []
  for (; at < given.length && !isExpression(given[at]!); at++) reads.push(given[at]!.text)
  for (; at < given.length; at++) {
    const { text } = given[at]!
    if (bare.has(text)) continue
    const isFile = /^-(newer([aBcm][aBcm])?|anewer|cnewer|samefile)$/.test(text)
    if (!isFile && !valued.has(text) && !/^-newer[aBcm]t$/.test(text))
      return `${text} is not among the parts of a find expression that are known to be read-only`
    const value = given[++at]
    if (!value) return `${text} needs a value`
    if (value.isGlob) return `${value.text} may be more than one word`
    if (isFile) reads.push(value.text)
  }
  return { flags: [], words: given, reads: reads.length === 0 ? ['.'] : reads }
}

/** What find deletes, and the files that it prints to. What it runs is read as a command of its own. */
function findWrites(words: readonly string[]): string[] | undefined {
  const printed = words.filter((_, at) => /^-(fprint0?|fprintf|fls)$/.test(words[at - 1] ?? ''))
  if (!words.includes('-delete')) return printed.length > 0 ? printed : undefined
  const [start = '.'] = words[0]?.startsWith('-') ? [] : plain(words)
  return [start, ...printed]
}
