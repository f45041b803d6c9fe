import { isPath, isQuoted, isVague, literal, type Masked, nameIn, restored } from './masked-text.ts'
import { incomplete, recogniseEdit, recogniseLook } from './recognise-files.ts'
import type { Intent } from './requests.ts'

/** What one request means. The first rule that matches counts; each rule must account for every word. */
export function recognise(masked: Masked): Intent | undefined {
  if (masked.text.length > maxRequestLength) return undefined
  const source = masked.text.trim()
  const whole = { ...masked, text: source }
  const plain = withoutEnd(source)
  const about = recogniseAgent(restored(whole)) ?? recogniseTalk(plain, whole)
  if (about) return about
  const text = withoutManners(source)
  const task = { ...masked, text: withoutEnd(text) }
  const commandText = /^(?:can|could|would|will)\s/i.test(source)
    ? text.replace(/[.,!?]+$/, '')
    : text.replace(/[.,]$/, '')
  return (
    recogniseTalk(task.text, task) ??
    recogniseTest(task) ??
    recogniseCommand({ ...masked, text: commandText }) ??
    recogniseChanges(task.text) ??
    recogniseUrl(task) ??
    recogniseCount(task) ??
    recogniseEdit(task) ??
    recogniseLook(task)
  )
}

/** Longer texts are not plain requests, and would make patterns slow. */
const maxRequestLength = 10_000

const withoutEnd = (text: string): string => text.replace(/[\s.!?,]+$/, '')

/** Without `could you please …` and `… for me, thanks`. A question whether to do something is not a request. */
function withoutManners(text: string): string {
  if (/^(?:(?:can|could|should|shall|may|would|do|must) i|(?:should|shall) we)\b/i.test(text)) return text
  return text
    .replace(
      /^(?:(?:please|kindly|can|could|would|will|you|i|we|want|need|like|to|i['’]?d|let['’]?s|hey|hi|hello|ok|okay|now|first|next|finally|also|and|then|just|go|ahead|help|try|so|well|libero)[,:!]?\s+){1,10}/i,
      '',
    )
    .replace(/^(?:tell|show) me (?=what|which|where|how)/i, '')
    .replace(/(?:,?\s+(?:please|thanks|thank you|for me|now|then))+(?=[.!?]*$)/i, '')
}

const units: Readonly<Record<string, number>> = { second: 1, minute: 60, min: 60, hour: 3600, day: 86_400 }
const counts: Readonly<Record<string, number>> = { a: 1, an: 1, one: 1, 'half an': 0.5 }
const span = '(?:in|after) (a|an|one|half an|\\d{1,4}) (second|minute|min|hour|day)s?'
const timeFirst = new RegExp(`^(?:please )?remind me ${span},? ?(?:to|about|that|of)? ?(.*)$`, 'is')
const timeLast = new RegExp(`^(?:please )?remind me (?:to |about |that |of )?(.+?),? ${span}[.!]?$`, 'is')

/** Requests to an agent that stays: reminders, questions to ask, news of a wiki. */
function recogniseAgent(source: string): Intent | undefined {
  const text = source.slice(0, 500)
  const alarm = /^\[Alarm Clock\] (.+)$/s.exec(text)
  if (alarm) return { kind: 'rung', text: alarm[1]! }
  const first = timeFirst.exec(text)
  const last = timeLast.exec(text)
  if (first) return reminder(first[3]!, first[1]!, first[2]!)
  if (last) return reminder(last[1]!, last[2]!, last[3]!)
  const asked = /^(?:please )?ask me(?::| )\s*(.+)$/is.exec(text)?.[1]?.trim()
  if (asked !== undefined) {
    const isChoice = /^[\w-]{1,40}(?:, [\w-]{1,40})*,? or [\w-]{1,40}\?$/.test(asked)
    const options = isChoice ? asked.slice(0, -1).split(/,? or |, /) : []
    return { kind: 'ask', question: asked.endsWith('?') ? asked : `${asked}?`, options }
  }
  const isNews =
    /^(?:(?:show|list) (?:me )?)?(?:the )?(?:recent|latest|newest|last) (?:pages|tiddlers|changes (?:in|of|to) (?:the |my )?wiki)\b/i
  if (!isNews.test(text) && !/^what(?: is|'s| has)? (?:new|changed) (?:in|on) (?:the |my )?wiki\b/i.test(text))
    return undefined
  const wiki = /\bwiki (?:called |named )?["“”`']?([\w-]{1,60})["“”`']?/i.exec(text)?.[1]
  return { kind: 'recent', ...(wiki !== undefined && { wiki }) }
}

function reminder(about: string, count: string, unit: string): Intent {
  const text = about.trim().replace(/[.!]+$/, '')
  const many = counts[count.toLowerCase()] ?? Number(count)
  return { kind: 'remind', text: text === '' ? 'what you wanted' : text, seconds: many * units[unit.toLowerCase()]! }
}

const helpPatterns = [
  /^(?:\?|(?:help|commands|usage|hilfe)(?: me)?|(?:explain|describe|introduce) yourself|(?:who|what) are you)$/,
  /^(?:please )?(?:tell me |show me |explain |list )?(?:me )?what (?:(?:can|could|do) (?:you|i|one)|you (?:can|could)) (?:do|say|ask|understand|know|type)\b.{0,60}$/,
  /^are you (?:an? )?(?:ai|llm|language model|real model|chatgpt|claude|human|robot|bot)$/,
  /^how (?:do|does|can) (?:i|this|it|you) (?:use|work|works)\b.{0,40}$/,
]
const greeting =
  /^(?:hi|hello|hey|good (?:morning|evening|day|afternoon)|thanks|thank you|thanks a lot|ok|okay|cool|great|nice|bye|goodbye|well done)(?: there| libero| you| very much)?$/
const summaryPattern =
  /^(?:please )?(?:summari[sz]e|sum up|recap)(?: (?:it|this|everything|all|what .{1,60}|(?:the|this|our|your) (?:session|conversation|work|changes|run).{0,40}))?$|^what (?:did|have) you (?:do|done|change|changed)\b.{0,40}$/
const todoList =
  /^(?:show|list|read|see|what(?:'s| is| are)?)(?: me| on| in| the| my| our| all| your)*(?: todos?| to-dos?| tasks?)(?: lists?| items?)?$/

/** Requests about the conversation: help, greetings, what was done, the list of things to do. */
function recogniseTalk(text: string, masked: Masked): Intent | undefined {
  const lower = (text === '' ? masked.text : text).slice(0, 200).toLowerCase().replaceAll('’', "'")
  if (helpPatterns.some((pattern) => pattern.test(lower))) return { kind: 'help' }
  if (greeting.test(lower)) return { kind: 'greeting' }
  if (summaryPattern.test(lower)) return { kind: 'summary' }
  if (todoList.test(lower)) return { kind: 'notes' }
  const [, added, remembered] =
    /^(?:add|put|note|write) (.+) to (?:the |my |our |your )?(?:todo|to-do|task)s?(?: list)?$|^(?:please )?(?:remember|remind me|don['’]t forget|note|todo|to-do|new task|task)(?: down)?(?: that| to| about)?:? (.+)$/is.exec(
      text,
    ) ?? []
  const note = literal(added ?? remembered ?? '', masked)
  return note === '' ? undefined : { kind: 'note', text: note.slice(0, 400) }
}

function recogniseTest(masked: Masked): Intent | undefined {
  const { text } = masked
  if (!/\b(?:tests?|testsuite|suite|specs?|failing|failure|bug|build)\b/i.test(text)) return undefined
  const [, named] = /\b(?:with|using|running) ([\ue000-\uf8ff]|\w+.*)$/i.exec(text) ?? []
  const command = named && (isQuoted(named) || isProgram(named)) && { command: literal(named, masked) }
  const isFix =
    /(?:^|[,.;:!?] |\b(?:and|then|please|you|just) )(?:fix|repair|mend|debug|correct|solve)\b/i.test(text) ||
    /\b(?:make|get)\b.*\b(?:pass|passing|green|work|succeed)\b/i.test(text)
  const isOther =
    /\b(?:not|don['’]t|never|without|how|why|nothing|typos?|comment|docs)\b|^(?:search|grep|locate|create|write|replace|change|add|append|read|show|open|explain|describe|list|count|delete|remove|rename|move|copy|what|which|where|fetch|put|save)\b/i
  if (isFix && !isOther.test(text)) return { kind: 'fix', ...command }
  const isTest =
    /^(?:(?:run|execute|do|start|try|check)(?: all| the| my| our| unit)* )?(?:tests?|test ?suite|specs?)(?: again| suite| now| (?:with|using|by running) .*)?$/i
  const isQuestion = /^(?:do|does|are|is|which|what) (?:the |all |my |any )*tests? .{0,40}$/i
  return isTest.test(text) || isQuestion.test(text) ? { kind: 'test', ...command } : undefined
}

const programs = new Set(
  `git npm npx node pnpm yarn bun deno cargo go python python3 pip pytest tsc docker pwd echo wc head tail sort date whoami
  uname which make mkdir touch ls sleep env du df curl vitest jest`.split(/\s+/),
)
/** Also words of an English sentence: they are commands only with an option. */
const englishPrograms = new Set(['make', 'go', 'touch', 'which', 'head', 'sort', 'date', 'sleep', 'mkdir'])
export const shellWords = new Set([
  ...programs,
  'cat',
  'cd',
  'rm',
  'mv',
  'cp',
  'grep',
  'export',
  'test',
  'kill',
  'exit',
])
const isProgram = (text: string): boolean => programs.has(text.split(/\s/, 1)[0]!)
const whichCommand = incomplete('Which command exactly? Put it in backticks.', 'run')

function recogniseCommand(masked: Masked): Intent | undefined {
  const { text } = masked
  const [, shell, given] = /^(?:[$!] ?(.+)|(?:run|execute|exec|invoke)(?: (.+))?)$/is.exec(text) ?? []
  const run = (command: string): Intent => ({ kind: 'run', command: literal(command, masked) })
  if (shell !== undefined) return run(shell)
  if (given !== undefined) {
    const [, article, wanted = ''] = /^((?:(?:the|this|shell|command) )*)(.+)$/is.exec(given) ?? []
    if (isVague(wanted.split(' ', 1)[0]!)) return undefined
    const isNoun = /\b(?:the|this)\b/i.test(article!) && !isQuoted(wanted) && !isProgram(wanted) && !isPath(wanted)
    const isProse =
      /^(?:a|an|my|our|all|some)\s|^[\ue000-\uf8ff] in\b|\sand (?:tell|show|report|say|explain|fix|give|let|read|list|delete|remove|create|write|replace|see|check|commit|push|run)\b/i
    return isNoun || isProse.test(wanted) ? whichCommand : run(wanted)
  }
  if (isQuoted(text) && restored(masked).startsWith('`') && isProgram(literal(text, masked))) return run(text)
  const [program = '', ...rest] = text.split(/\s+/)
  const isEnglish = englishPrograms.has(program) && !rest.some((word) => word.startsWith('-'))
  if (!programs.has(program) || isEnglish || /^(?:git status|ls(?: \S+)?)$/.test(text)) return undefined
  return run(text)
}

function recogniseChanges(text: string): Intent | undefined {
  if (/^(?:show |print |see )?(?:me )?(?:the |a |my )?(?:git )?diff$/i.test(text))
    return { kind: 'changes', isDiff: true }
  const isStatus =
    /^(?:show |check )?(?:me )?(?:the |what )?(?:git )?(?:status|changes)$|^(?:what(?:'s| has| is| did i| have i| files)?(?: been)? chang(?:ed|es?)|is there anything new|any changes)\b.{0,40}$|^what is different$/i
  return isStatus.test(text) ? { kind: 'changes', isDiff: false } : undefined
}

function recogniseUrl({ text }: Masked): Intent | undefined {
  const [, url] = /^(?:(?:fetch|get|open|download|read|show|visit|load) )?(https?:\/\/\S+)$/i.exec(text) ?? []
  return url === undefined ? undefined : { kind: 'fetch', url }
}

function recogniseCount(masked: Masked): Intent | undefined {
  const [, rest] = /^(?:count|how (?:many|long))\b(.*)$/is.exec(masked.text) ?? []
  if (rest === undefined) return undefined
  const path = nameIn(rest, masked, 'lines line words of in does do have has is are there long how many files entries')
  if (/\b(?:files|entries)\b/i.test(rest)) return { kind: 'list', path: path ?? '.' }
  return path === undefined ? incomplete('Of which file shall I count the lines?', 'count') : { kind: 'count', path }
}
