/** What an approval says about a call: facts, arguments and warnings. */
export interface CallText {
  readonly facts: readonly CallFact[]
  readonly args: readonly CallArgument[]
  readonly notes: readonly string[]
}

/** Such as `runs in` and the folder; `more` has the indented lines below. */
export interface CallFact {
  readonly name: string
  readonly value: string
  readonly more: readonly string[]
}

export interface CallArgument {
  readonly name: string
  readonly text: string
}

/** Reads the lines of an approval, which the authority wrote: each is shown, whatever its form. */
export function readCallText(lines: readonly string[]): CallText {
  const at = lines.findIndex((line) => line.startsWith('arguments (') || line.startsWith('arguments: '))
  const notes = lines.filter((line) => line.startsWith('note: ')).map((line) => line.slice('note: '.length))
  const before = (at < 0 ? lines : lines.slice(0, at)).filter((line) => !line.startsWith('note: '))
  const after = at < 0 ? [] : lines.slice(at + 1).filter((line) => !line.startsWith('note: '))
  return { facts: factsIn(before), args: argumentsIn(after), notes }
}

function factsIn(lines: readonly string[]): CallFact[] {
  const facts: { name: string; value: string; more: string[] }[] = []
  for (const line of lines) {
    const last = facts.at(-1)
    if (line.startsWith(' ') && last) last.more.push(line.replace(/^ {2}/, ''))
    else {
      const [, name = '', value = line] = /^([^:]{1,40}):(?: (.*))?$/s.exec(line) ?? []
      facts.push({ name, value: name === '' ? line : value === line ? '' : value, more: [] })
    }
  }
  return facts
}

function argumentsIn(lines: readonly string[]): CallArgument[] {
  const args: { name: string; lines: string[] }[] = []
  for (const line of lines) {
    const [, behindMargin] = /^ {4}│ (.*)$/s.exec(line) ?? []
    const [, name, value] = /^ {2}(\S[^:]*?)(?: \(\d+ lines\))?:(?: (.*))?$/s.exec(line) ?? []
    if (behindMargin !== undefined && args.length > 0) args.at(-1)!.lines.push(behindMargin)
    else if (name !== undefined && !line.startsWith('    '))
      args.push({ name, lines: value === undefined ? [] : [value] })
    else if (args.length > 0) args.at(-1)!.lines.push(line.trim())
    else args.push({ name: '', lines: [line] })
  }
  return args.map(({ name, lines: all }) => ({ name, text: all.join('\n') }))
}
