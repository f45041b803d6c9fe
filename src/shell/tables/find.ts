import { isLoose } from './flags.ts'
import { plain, type ReadArguments, type Word } from './program.ts'

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
export function readFind(given: readonly Word[]): ReadArguments | string {
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
export function findWrites(words: readonly string[]): string[] | undefined {
  const printed = words.filter((_, at) => /^-(fprint0?|fprintf|fls)$/.test(words[at - 1] ?? ''))
  if (!words.includes('-delete')) return printed.length > 0 ? printed : undefined
  const [start = '.'] = words[0]?.startsWith('-') ? [] : plain(words)
  return [start, ...printed]
}
