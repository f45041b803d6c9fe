import { shellWord } from '../../core/execution.ts'
import { contentOf, exactText, isPath, isVague, literal, type Masked, maskPattern, nameIn } from './masked-text.ts'
import type { Intent, Kind } from './requests.ts'

/** Requests that change files. */
export function recogniseEdit(masked: Masked): Intent | undefined {
  return replacement(masked) ?? removal(masked) ?? move(masked) ?? append(masked) ?? creation(masked) ?? writing(masked)
}

function replacement(masked: Masked): Intent | undefined {
  const [, ahead, verb = '', all, rest = ''] =
    /^(?:in (\S+?),? )?(replace|substitute|swap|change|turn|rename|edit)( all| every| each)?((?:.|\n)*)$/i.exec(
      masked.text,
    ) ?? []
  const separator = /^(?:replace|substitute)$/i.test(verb) ? / (?:with|by) / : / (?:to|into|with|as|for|by) /
  const found = separator.exec(rest)
  if (verb === '') return undefined
  if (!found)
    return verb.toLowerCase() === 'replace' ? incomplete('Replace it with what, and in which file?') : undefined
  const isRename = verb.toLowerCase() === 'rename'
  const after = rest.slice(found.index + found[0].length)
  const [, value = after, place] = ahead === undefined ? (/^(.+) (?:in|inside) (.+)$/is.exec(after) ?? []) : []
  const isEverywhere = /(?:^|\s)everywhere$/i.test(place ?? after)
  const path = ahead === undefined ? place && nameIn(place, masked, 'everywhere') : literal(ahead, masked)
  if (!path) return isRename && !place ? undefined : incomplete('In which file shall I replace it?')
  const from = rest
    .slice(0, found.index)
    .replace(/^(?:\s+(?:occurrences?|of)\b)+/i, '')
    .trim()
  if (isReference(from) || isReference(value)) return incomplete('Which text exactly, in quotes?')
  if (from === '') return undefined
  const values = { from: contentOf(from, masked), to: contentOf(value, masked) }
  return { kind: 'replace', ...values, path, isAll: all !== undefined || isEverywhere || isRename }
}

/** `it`, or a line by its number: not the text itself. */
const isReference = (text: string): boolean => isVague(text) || /^(?:the )?lines? \d/i.test(text)

function removal(masked: Masked): Intent | undefined {
  const [, , what = ''] = /^(delete|remove|rm|erase) (.+)$/is.exec(masked.text) ?? []
  if (what === '') return undefined
  const [, part, place = ''] = /^(.+) (?:from|in) (.+)$/is.exec(what) ?? []
  if (part === undefined) {
    const path = nameIn(what, masked)
    return path === undefined ? undefined : { kind: 'run', command: `rm -- ${shellWord(path)}` }
  }
  const path = nameIn(place, masked)
  const isWord = !/\s/.test(part) && !isVague(part) && !isPath(part)
  const from = exactText(part, masked) ?? (isWord ? part : '')
  if (path === undefined || from === '') return incomplete('Which text shall I take out of which file?')
  return { kind: 'replace', from, to: '', path, isAll: false }
}

function move(masked: Masked): Intent | undefined {
  const [, verb = '', source = '', target = ''] =
    /^(rename|move|mv|copy|cp) (.+) (?:to|into|as) (.+)$/is.exec(masked.text) ?? []
  const [from, to] = [nameIn(source, masked, 'folder directory'), nameIn(target, masked, 'folder directory')]
  if (from === undefined || to === undefined) return undefined
  const program = /^(?:copy|cp)$/i.test(verb) ? 'cp -n' : 'mv -n'
  return { kind: 'run', command: `${program} -- ${shellWord(from)} ${shellWord(to)}` }
}

function append(masked: Masked): Intent | undefined {
  const [, verb = '', what = '', place = ''] = /^(append|add) (.+) to (.+)$/is.exec(masked.text) ?? []
  if (verb === '') return undefined
  const path = nameIn(place, masked, 'end bottom of')
  const isPlain = verb.toLowerCase() === 'append' && !isReference(what)
  const text = exactText(what, masked) ?? (isPlain ? contentOf(what, masked) : '')
  if (path === undefined || text === '') return incomplete('Which text shall I append to which file?', 'append')
  return { kind: 'append', path, text }
}

const whatText = incomplete('Which text exactly shall stand in it? Put it in quotes.', 'create')

function creation(masked: Masked): Intent | undefined {
  const [, verb = '', head = '', content] =
    /^(create|make|touch|mkdir|add|write|generate) (.+?)(?:(?: (?:with|containing|saying|says|holding|contains)|:)\s(.+))?$/is.exec(
      masked.text,
    ) ?? []
  const path = nameIn(head, masked, 'a an new empty blank small text which that folder directory folders')
  if (path === undefined) return undefined
  if (/^mkdir$/i.test(verb) || /\b(?:folders?|directory)\b/i.test(head))
    return { kind: 'run', command: `mkdir -p -- ${shellWord(path)}` }
  if (content === undefined) {
    const isSure = /^(?:create|touch)$/i.test(verb) || /\bfile\b/i.test(head)
    return isSure ? { kind: 'create', path, text: '' } : undefined
  }
  // `an express app` describes a content, and words after a quoted text say more than the text.
  const isDescribed =
    /^(?:[\ue000-\uf8ff]|(?:a|an|two|three|my|our)\b)/i.test(content) || isVague(content.split(' ', 1)[0]!)
  const text = exactText(content, masked) ?? (isPath(path) && !isDescribed ? contentOf(content, masked) : undefined)
  return text === undefined ? whatText : { kind: 'create', path, text: withNewline(text) }
}

/** `write "hello" to notes.txt` */
function writing(masked: Masked): Intent | undefined {
  const [, what = '', place = ''] = /^(?:write|put|save|store) (.+) (?:to|into|in|as) (.+)$/is.exec(masked.text) ?? []
  const path = nameIn(place, masked, 'a an new text')
  const text = exactText(what, masked)
  if (text !== undefined && path !== undefined) return { kind: 'create', path, text: withNewline(text) }
  return path !== undefined && isPath(path) ? whatText : undefined
}

const withNewline = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`)

const searchVerbs = /^(?:find|search|grep|look|locate|where|where's|seek)\b/i
const listVerbs = /^(?:list|ls|dir|show|what|which|what's|give|tell|see)\b/i
const contains = /\b(?:containing|contains?|mentioning|mention)\b/i
const places = 'folder directory folders project repository repo code source files here everything them there'

/** Requests that only read: files by name, a search, a list, a file. */
export function recogniseLook(masked: Masked): Intent | undefined {
  return filesByName(masked) ?? search(masked) ?? list(masked) ?? read(masked)
}

/** Splits `… in src` off; `.` without a place. */
function placeOf(text: string, masked: Masked): { readonly rest: string; readonly path: string } {
  const [, rest, place] =
    /^(.*?)\s*\b(?:in|under|inside|within|below) (?!.*\b(?:in|under|inside|within|below) )(.+)$/is.exec(text) ?? []
  const path = place === undefined ? undefined : nameIn(place, masked, `${places} all`, '.')
  return path === undefined ? { rest: text, path: '.' } : { rest: rest!, path }
}

function filesByName(masked: Masked): Intent | undefined {
  const { text } = masked
  if ((!searchVerbs.test(text) && !listVerbs.test(text)) || contains.test(text) || /\b(?:using|use|with)\b/i.test(text))
    return undefined
  const { rest, path } = placeOf(text, masked)
  const words = rest.split(/\s+/).slice(1)
  const glob = words.find((word) => literal(word, masked).includes('*'))
  const isFiles = /\bfiles?\b/i.test(rest)
  const ending = words.find((word) => /^\.\w{1,12}$/.test(word))
  const [, named] = /\b(?:named|called|matching|like|name) (.+)$/is.exec(rest) ?? []
  const isSought = searchVerbs.test(text) && !/^search/i.test(text)
  const other = isSought || named ? nameIn(named ?? words.join(' '), masked, 'all files any of') : undefined
  const name = glob ? literal(glob, masked) : ending ? `*${ending}` : other
  if (name === undefined || (!isFiles && !glob)) return undefined
  return { kind: 'files', pattern: name.includes('/') ? name : `**/${name}`, path }
}

function search(masked: Masked): Intent | undefined {
  const { text } = masked
  const isSearch = searchVerbs.test(text) && !/^look\b(?!.*\bfor\b)/i.test(text)
  if (!isSearch && !(listVerbs.test(text) && contains.test(text))) return undefined
  const [, inside, wanted] = /^search (?:in )?(\S+) for (.+)$/is.exec(text) ?? []
  const [, pattern, folder] = /^grep (\S+) (\S+)$/i.exec(text) ?? []
  const [, marked] =
    /\b(?:files?|lines|everything|places)\b.*?\b(?:containing|contains?|mentioning|mention|with) (.+)$/is.exec(text) ??
    []
  const { rest, path } = inside
    ? { rest: wanted!, path: literal(inside, masked) }
    : placeOf(marked ?? text.replace(/^\S+\s*/, ''), masked)
  const what = (pattern ?? rest)
    .replace(
      /^(?:(?:for|the|all|every|any|occurrences?|of|text|word|string|through|is|are|uses|usages|do|we|i|me|where|files?|lines|places)\s+)+/i,
      '',
    )
    .replace(/(?:\s+(?:defined|used|declared|mentioned|everywhere|in|them))+$/i, '')
  const [only] = what.match(maskPattern) ?? []
  const searched = only && what.match(maskPattern)!.length === 1 ? literal(only, masked) : literal(what, masked)
  if (['', 'it', 'that', 'this', 'something', 'for'].includes(searched))
    return incomplete('What shall I search for?', 'search')
  return { kind: 'search', text: searched, path: folder ?? path }
}

function list(masked: Masked): Intent | undefined {
  const { text } = masked
  const isAbout = listVerbs.test(text) && /\b(?:files|folders?|directory|contents|entries)\b/i.test(text)
  const isWhat = /^what(?:'s| is| are)(?: there)?(?: in| inside| here)\b/i.test(text)
  if (!/^(?:list|ls|dir)\b/i.test(text) && !isAbout && !isWhat) return undefined
  const rest = text.replace(/^\S+\s*/, '')
  const fillers = `me all a of in inside under are is there here what contents content entries names every each we have do i ${places}`
  const path = nameIn(rest, masked, fillers, '.')
  if (path === undefined) return undefined
  return isWhat && /\.\w{1,8}$/.test(path) ? { kind: 'read', path } : { kind: 'list', path }
}

function read(masked: Masked): Intent | undefined {
  const { text } = masked
  const isExplained = /^(?:explain|describe|summari[sz]e|review|analy[sz]e)\b/i.test(text)
  const isQuestion = /^what (?:does|is in|do)\b/i.test(text)
  if (!isExplained && !isQuestion && !/^(?:read|show|cat|open|view|print|display|look|see|give|type)\b/i.test(text))
    return undefined
  const rest = text.replace(/^\S+\s*/, '')
  const fillers =
    'a an me us all of at in content contents whole new full current line lines first last from top to until beginning start end does say contain do look like see what source code'
  const path = nameIn(rest.replace(/\b\d{1,9}(?:-\d{1,9})?(?=\s)/g, ''), masked, fillers)
  if (path === undefined || ((isQuestion || isExplained) && !isPath(path))) return undefined
  const lines = linesIn(rest)
  return { kind: 'read', path, ...(lines && { lines }), ...(isExplained && { isExplained }) }
}

/** `lines 10-20`, `line 5`, `first 10 lines`. */
function linesIn(text: string): { from: number; count: number } | undefined {
  const [range, first = '', last = first] = /\blines? (\d{1,9})(?: ?(?:-|to|until) ?(\d{1,9}))?\b/i.exec(text) ?? []
  if (range)
    return { from: Math.max(1, Number(first)), count: Math.max(1, Number(last) - Math.max(1, Number(first)) + 1) }
  const [, top] = /\b(?:first|top) (\d{1,9}) lines?\b/i.exec(text) ?? []
  return top === undefined ? undefined : { from: 1, count: Math.max(1, Number(top)) }
}

export function incomplete(question: string, like: Kind = 'replace'): Intent {
  return { kind: 'incomplete', question, like }
}
