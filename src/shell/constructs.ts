import type { SyntaxNode } from 'unbash'

type NodeType = SyntaxNode['type']

/**
 * Every kind of node of the parser, in words. Empty: the node adds nothing to its parts. Typed over the parser's union, so
 * that a new kind of node does not compile.
 */
export const constructs: { readonly [Type in NodeType]: string } = {
  Script: '',
  Statement: '',
  CompoundList: '',
  Command: '',
  Pipeline: '',
  AndOr: '',
  Time: '',
  Negation: '',
  Word: '',
  Literal: '',
  Glob: '',
  SingleQuoted: '',
  DoubleQuoted: '',
  FileDescriptor: '',
  HereDocDelimiter: '',
  HereDocBody: '',
  Redirect: '',
  HereString: '',
  HereDoc: '',
  AnsiCQuoted: "a string with escapes, $'…'",
  LocaleString: 'a translated string, $"…"',
  SimpleExpansion: 'a parameter expansion, $…',
  ParameterExpansion: 'a parameter expansion, $…',
  Default: 'a parameter expansion, $…',
  Remove: 'a parameter expansion, $…',
  Replace: 'a parameter expansion, $…',
  Slice: 'a parameter expansion, $…',
  CaseModification: 'a parameter expansion, $…',
  Transform: 'a parameter expansion, $…',
  Names: 'a parameter expansion, $…',
  Unknown: 'a parameter expansion, $…',
  CommandExpansion: 'a command substitution, $(…)',
  ProcessSubstitution: 'a process substitution, <(…)',
  ArithmeticExpansion: 'arithmetic, $((…))',
  ArithmeticBinary: 'arithmetic, $((…))',
  ArithmeticUnary: 'arithmetic, $((…))',
  ArithmeticTernary: 'arithmetic, $((…))',
  ArithmeticGroup: 'arithmetic, $((…))',
  ArithmeticWord: 'arithmetic, $((…))',
  ArithmeticCommandExpansion: 'a command substitution, $(…)',
  ArithmeticCommand: 'an arithmetic command, ((…))',
  ExtendedGlob: 'an extended pattern, @(…)',
  BraceExpansion: 'a brace expansion, {…}',
  Assignment: 'an assignment',
  ArrayValue: 'an array',
  FileDescriptorVariable: 'a redirection that only the shell knows, {…}>',
  Redirected: 'a redirection of several commands',
  If: 'a condition, if',
  Elif: 'a condition, if',
  For: 'a loop, for',
  ArithmeticFor: 'a loop, for',
  While: 'a loop, while',
  Select: 'a loop, select',
  Case: 'a condition, case',
  CaseItem: 'a condition, case',
  Function: 'a function',
  Subshell: 'a subshell, (…)',
  BraceGroup: 'a group, {…}',
  Coproc: 'a coprocess, coproc',
  TestCommand: 'a test, [[…]]',
  TestUnary: 'a test, [[…]]',
  TestBinary: 'a test, [[…]]',
  TestLogical: 'a test, [[…]]',
  TestNot: 'a test, [[…]]',
  TestGroup: 'a test, [[…]]',
}

/** Constructs that run in the same shell, so that a `cd` inside has an effect outside. */
export const inShell: ReadonlySet<NodeType> = new Set<NodeType>([
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

/** Whether its text contains something that the parser gave no tree for. */
export function isHollow(node: SyntaxNode): boolean {
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
