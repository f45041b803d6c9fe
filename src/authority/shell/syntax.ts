import type {
  AndOr,
  Assignment,
  Command,
  HereDocDelimiter,
  ParsedScript,
  Pipeline,
  Redirection,
  Statement,
  SyntaxNode,
  Word,
} from 'unbash'
import { forEachChild, parse } from 'unbash'
import { constructs } from './constructs.ts'
import { isCovered, type Span } from './covered.ts'
import { mayChangeDirectory, unionOf } from './directories.ts'
import type { Findings, Position } from './findings.ts'
import { applyDirectoryChange, reportCommand } from './found-command.ts'
import { isHarmlessAssignment } from './harmless-assignment.ts'
import { hasExpansion, type PlainWord, plainWord } from './plain-word.ts'
import type { ReadRedirect } from './reading.ts'
import { combinedProblem, redirectProblem } from './redirect-problem.ts'
import { withoutHome } from './shell-location.ts'
import { unreadable } from './unreadable.ts'
import { readsLines, runsText } from './unwrap.ts'
import { mostWrappers } from './wrappers.ts'

/** Visits every node of a line. The only file that knows the parser. May throw; the caller then uses `text`. */
export function readSyntax(text: string, findings: Findings, position: Position = atStart()): void {
  const problem = position.via.length > mostWrappers ? 'lines inside lines, too deep to be read' : unreadable(text)
  if (problem !== undefined) {
    findings.obstacle(problem)
    findings.unread(text)
    return
  }
  let obstacles = 0
  let runner: string | undefined
  const told: Findings = {
    ...findings,
    obstacle(name) {
      obstacles++
      findings.obstacle(name)
    },
    command(command) {
      if (runsText(command.words)) runner ??= command.words[0]
      findings.command(command)
    },
  }
  const line: Line = { source: text, findings: told, spans: [], inputs: new Set() }
  visit(parse(text), position, line)
  // `{ sh; } <<E`, `tee f <<E; sh f`: how a text reaches the shell that runs it cannot be followed.
  if (runner !== undefined)
    for (const input of line.inputs) lineReader(position, told)(input, [...position.via, runner])
  // A check of the parser: text that it skipped may be anything.
  if (obstacles === 0 && !isCovered(text, line.spans)) {
    findings.obstacle('text that the parser skipped')
    findings.unread(text)
  }
}

interface Line {
  /** The text that positions refer to. */
  readonly source: string
  readonly findings: Findings
  readonly spans: Span[]
  /** Here-documents and here-strings. */
  readonly inputs: Set<string>
}

const atStart = (): Position => ({ shell: { directories: ['.'] }, isNested: false, via: [] })

function visit(node: SyntaxNode, position: Position, line: Line): void {
  switch (node.type) {
    case 'Script':
      script(node, position, line)
      break
    case 'CompoundList':
      list(node.commands, position, line)
      break
    case 'Statement':
      statement(node, position, line)
      break
    case 'AndOr':
      andOr(node, position, line)
      break
    case 'Pipeline':
      pipeline(node, position, line)
      break
    case 'Command':
      command(node, position, line)
      break
    default:
      construct(node, position, line)
  }
}

function script(node: ParsedScript, position: Position, line: Line): void {
  const own = node.source === undefined ? line : { ...line, source: node.source }
  if (node.errors?.length) {
    line.findings.obstacle(`no shell that can be read: ${node.errors[0]!.message}`)
    line.findings.unread(own.source)
  }
  list(node.commands, position, own)
}

function list(statements: readonly Statement[], position: Position, line: Line): void {
  for (const one of statements) {
    const before = position.shell.directories
    statement(one, position, line)
    // It may have failed, and the next one runs anyway.
    position.shell.directories = unionOf(position.shell.directories, before)
  }
}

function statement(node: Statement, position: Position, line: Line): void {
  if (node.background) line.findings.obstacle('a command in the background, &')
  visit(node.command, node.background ? { ...position, shell: { ...position.shell } } : position, line)
}

function andOr(node: AndOr, position: Position, line: Line): void {
  const { shell } = position
  const before = shell.directories
  let after = before
  for (const [i, part] of node.commands.entries()) {
    // After `||` something has failed, and it is unknown what.
    if (i > 0 && node.operators[i - 1] !== '&&' && shell.directories !== before) shell.directories = undefined
    visit(part, position, line)
    after = unionOf(shell.directories, after)
  }
  shell.directories = after
}

function pipeline(node: Pipeline, position: Position, line: Line): void {
  for (const { pos, end } of node.prefixes) line.spans.push([pos, end])
  // Each part has its own shell; a lone one after `!` or `time` may have failed.
  const { directories } = position.shell
  let isMoved = false
  for (const part of node.commands) {
    const shell = { directories }
    visit(part, { ...position, shell }, line)
    isMoved ||= shell.directories !== directories
  }
  if (isMoved) position.shell.directories = undefined
  pipedLines(node, position, line)
}

/** `echo 'a line' | sh`: input of a shell may be what it runs. */
function pipedLines({ commands }: Pipeline, position: Position, line: Line): void {
  const simple = commands.flatMap((part) => (part.type === 'Command' ? [{ part, words: wordsOf(part) }] : []))
  const shell = simple.find(({ words }, i) => i > 0 && readsLines(words))
  if (!shell) return
  line.findings.obstacle(runsInput)
  const readLine = lineReader(position, line.findings)
  for (const { part, words } of simple) {
    if (part === shell.part) break
    for (const text of [words.slice(1).join(' '), ...inputsOf(part.redirects)]) {
      line.inputs.delete(text)
      readLine(text, [...position.via, shell.words[0]!])
    }
  }
}

function wordsOf({ name, args }: Command): string[] {
  return [...(name ? [name] : []), ...args].map(({ text }) => plainWord(text).value)
}

function command(node: Command, position: Position, line: Line): void {
  const { findings } = line
  const words: string[] = []
  const globs: number[] = []
  const unsure: number[] = []
  const env: [string, string][] = []
  const redirects: ReadRedirect[] = []
  for (const part of inOrder(node)) {
    line.spans.push([part.pos, part.end])
    if (part.type === 'Assignment' && node.prefix.includes(part)) {
      env.push([part.name, assignedTo(part, line)])
    } else if (part.type === 'Word' || part.type === 'Assignment') {
      const { value, isGlob, isKnown } = wordOf(part, line)
      // A plain sh reads `ls &> f touch x` as two commands; it is used where there is no bash.
      if (redirects.some(({ operator }) => operator.startsWith('&>')))
        findings.obstacle('a word behind &>, where not every shell goes on with the same command')
      if (isGlob) globs.push(words.length)
      if (isGlob || !isKnown) unsure.push(words.length)
      words.push(value)
    } else {
      redirects.push(redirectOf(part, line))
    }
  }
  const problem = combinedProblem(redirects)
  if (problem !== undefined) findings.obstacle(problem)
  const found = { words, globs, unsure, env: Object.fromEntries(env), redirects }
  const readLine = lineReader(position, findings)
  reportCommand(found, { position, findings, readLine })
  const inputs = readsLines(words) ? inputsOf(node.redirects) : []
  if (inputs.length > 0) findings.obstacle(runsInput)
  for (const text of inputs) {
    line.inputs.delete(text)
    readLine(text, [...position.via, words[0]!])
  }
  visitInside(inOrder(node), position, line)
  applyDirectoryChange(position, found)
}

function inOrder({ prefix, name, suffix }: Command): readonly (Word | Assignment | Redirection)[] {
  return name ? [...prefix, name, ...suffix] : [...prefix, ...suffix]
}

const lineReader =
  (position: Position, findings: Findings) =>
  (text: string, via: readonly string[]): void =>
    readSyntax(text, findings, { shell: { ...position.shell }, isNested: true, via })

const runsInput = 'a shell that runs what it is sent'

/** The text that a command gets as input. */
function inputsOf(redirects: readonly Redirection[]): string[] {
  return redirects.flatMap((part) => {
    if (part.type === 'HereDoc') return [part.body.text]
    return part.type === 'HereString' && part.target ? [plainWord(part.target.text).value] : []
  })
}

/** Handles all constructs other than words, lists and pipes. */
function construct(node: SyntaxNode, position: Position, line: Line): void {
  const { findings, source } = line
  const name: string | undefined = known[node.type]
  if (name === undefined) findings.obstacle(`syntax that is not known here, ${node.type}`)
  else if (name !== '' && !(node.type === 'SimpleExpansion' && node.text === '$?')) findings.obstacle(name)
  if (name === undefined || isHollow(node)) findings.unread(source)
  // A function may be called from anywhere.
  const moves =
    inShell.has(node.type) && mayChangeDirectory(node.type === 'Function' ? source : source.slice(node.pos, node.end))
  const directories = moves ? undefined : position.shell.directories
  const inside: Position = { ...position, isNested: true, shell: { directories } }
  if (node.type === 'Redirected') {
    const redirects = node.redirects.map((redirect) => redirectOf(redirect, line))
    reportCommand(
      { words: [], globs: [], unsure: [], env: {}, redirects },
      { position: inside, findings, readLine: () => {} },
    )
    visitInside(node.redirects, position, line)
    visit(node.command, position, line)
    return
  }
  forEachChild(node, (child) => visit(child, inside, line))
  if (moves) position.shell.directories = undefined
}

/** Visits the insides of words: substitutions and what they run. */
function visitInside(parts: readonly SyntaxNode[], position: Position, line: Line): void {
  const nested: Position = { ...position, isNested: true, shell: { ...position.shell } }
  const hidden: Line = { ...line, spans: [] }
  for (const part of parts) {
    // Assignments and redirections were handled before; this visits what they contain.
    if (part.type === 'Assignment' || part.type === 'Redirect' || part.type === 'HereString' || part.type === 'HereDoc')
      forEachChild(part, (child) => visit(child, nested, hidden))
    else visit(part, nested, hidden)
  }
}

function wordOf(part: Word | Assignment, line: Line): PlainWord {
  const plain = plainWord(part.text)
  if (part.type === 'Assignment' && part.value.type !== 'Word') line.findings.obstacle(constructs.ArrayValue)
  for (const name of plain.obstacles) line.findings.obstacle(name)
  if (part.type === 'Word' && plain.isKnown && plain.value !== part.value)
    line.findings.obstacle('a word that can be read in two ways')
  return plain.isKnown || part.type !== 'Word' ? plain : { ...plain, value: part.value }
}

function assignedTo(part: Assignment, line: Line): string {
  const { value } = part
  const plain = value.type === 'Word' ? wordOf(value, line) : undefined
  const isHarmless = plain?.isKnown && isHarmlessAssignment(part.name, plain.value)
  if (!isHarmless || part.append || part.index) line.findings.obstacle(`an assignment, ${part.name}=…`)
  return plain?.value ?? part.text.slice(part.text.indexOf('=') + 1)
}

function redirectOf(part: Redirection, line: Line): ReadRedirect {
  const { descriptor, operator } = part
  if (descriptor?.type === 'FileDescriptorVariable') line.findings.obstacle(constructs.FileDescriptorVariable)
  const number = descriptor?.type === 'FileDescriptor' ? { descriptor: descriptor.value } : {}
  for (const text of inputsOf([part])) line.inputs.add(text)
  if (part.type === 'HereDoc') {
    const { body, closing, delimiter } = part
    line.spans.push([body.pos, body.end], [closing?.pos ?? body.end, closing?.end ?? body.end])
    if (!closing || !delimiter) {
      line.findings.obstacle('a here-document that does not end')
      line.findings.unread(line.source)
    } else if (!isQuoted(delimiter) && hasExpansion(body.text))
      line.findings.obstacle('an expansion in a here-document')
    return { operator, ...number, target: undefined }
  }
  const plain = part.target && wordOf(part.target, line)
  if (part.type === 'HereString') return { operator, ...number, target: undefined }
  const target = plain?.isKnown && !plain.isGlob ? plain.value : undefined
  const problem = redirectProblem({ operator, ...number, target })
  if (problem !== undefined) line.findings.obstacle(problem)
  // An uncertain target is reported too, for rules that deny.
  const isTelling = plain && !/[$`{]/.test(withoutHome(plain.value))
  return { operator, ...number, target: target ?? (isTelling ? plain.value : undefined) }
}

/** True only if both the parser and the text say so. */
const isQuoted = ({ quoted, text }: HereDocDelimiter): boolean => quoted && /^[\w.'"\\-]*['"\\][\w.'"\\-]*$/.test(text)

/** Whether its text contains something that the parser gave no tree for. */
function isHollow(node: SyntaxNode): boolean {
  if (
    node.type === 'CommandExpansion' ||
    node.type === 'ProcessSubstitution' ||
    node.type === 'ArithmeticCommandExpansion'
  )
    return node.script === undefined
  if (node.type === 'ArithmeticExpansion') return node.expression === undefined
  if (node.type === 'ArithmeticCommand') return node.expression === undefined && node.body.trim() !== ''
  return node.type === 'Unknown'
}

type NodeType = SyntaxNode['type']

/** Typed over the parser's union, so that a new kind of node does not compile. */
const known: { readonly [Type in NodeType]: string } = constructs

/** Constructs that run in the same shell, so that a `cd` inside has an effect outside. */
const inShell: ReadonlySet<NodeType> = new Set<NodeType>([
  'If',
  'Elif',
  'For',
  'While',
  'Function',
  'BraceGroup',
  'Case',
  'CaseItem',
  'Select',
  'ArithmeticFor',
])
