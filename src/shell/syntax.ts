import {
  type AndOr,
  type Assignment,
  type Command,
  forEachChild,
  type ParsedScript,
  type Pipeline,
  parse,
  type Redirection,
  type Statement,
  type SyntaxNode,
  type Word,
} from 'unbash'
import { assignedTo, inputsOf, type Line, redirectOf, wordOf, wordsOf } from './command-parts.ts'
import { constructs, inShell, isHollow } from './constructs.ts'
import { mayChangeDirectory, unionOf } from './directories.ts'
import { applyDirectoryChange, type Findings, type Position, reportCommand } from './found-command.ts'
import { isCovered, unreadable } from './parser-checks.ts'
import type { ReadRedirect } from './reading.ts'
import { combinedProblem } from './redirects.ts'
import { mostWrappers } from './tables/wrappers.ts'
import { baseName, readsLines, runsText } from './unwrap.ts'

/**
 * Visits every node of a line, and gives the programs whose exit code may be that of the line. May
 * throw; the caller then uses `text`.
 */
export function readSyntax(text: string, findings: Findings, position: Position = atStart()): readonly string[] {
  const problem = position.via.length > mostWrappers ? 'lines inside lines, too deep to be read' : unreadable(text)
  if (problem !== undefined) {
    findings.obstacle(problem)
    findings.unread(text)
    return []
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
  const tree = parse(text)
  visit(tree, position, line)
  // `{ sh; } <<E`, `tee f <<E; sh f`: how a text reaches the shell that runs it cannot be followed.
  if (runner !== undefined)
    for (const input of line.inputs) lineReader(position, told)(input, [...position.via, runner])
  // A check of the parser: text that it skipped may be anything.
  if (obstacles === 0 && !isCovered(text, line.spans)) {
    findings.obstacle('text that the parser skipped')
    findings.unread(text)
  }
  return endsOf(tree) ?? []
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
    void readSyntax(text, findings, { shell: { ...position.shell }, isNested: true, via })

const runsInput = 'a shell that runs what it is sent'

/** Handles all constructs other than words, lists and pipes. */
function construct(node: SyntaxNode, position: Position, line: Line): void {
  const { findings, source } = line
  const name: string | undefined = constructs[node.type]
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

/** The programs that may run last; undefined if a construct decides. */
function endsOf(node: SyntaxNode): string[] | undefined {
  if (node.type === 'Script')
    return node.errors?.length || !node.commands.length ? undefined : endsOf(node.commands.at(-1)!)
  if (node.type === 'Statement') return node.background ? undefined : endsOf(node.command)
  if (node.type === 'Pipeline') return node.prefixes.length > 0 ? undefined : endsOf(node.commands.at(-1)!)
  if (node.type === 'Command') return node.name && wordsOf(node).slice(0, 1).map(baseName)
  if (node.type !== 'AndOr') return undefined
  const ends = node.commands.map(endsOf)
  return ends.includes(undefined) ? undefined : ends.flatMap((programs) => programs!)
}
