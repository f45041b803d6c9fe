import type { RemotePolicyTest } from '../libero.ts'

/** The input of a call as a person writes it: a line for the shell, JSON for any other tool. */
export function inputOf(tool: string, text: string): Readonly<Record<string, unknown>> {
  if (tool === 'shell' && !text.trimStart().startsWith('{')) return { command: text }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new Error(`The input of ${tool} is no JSON: ${(error as Error).message}`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error(`The input of ${tool} is an object, such as { "path": "notes.md" }`)
  return value as Readonly<Record<string, unknown>>
}

/** Cases of a test of the rules, one a line: `allow git status`, `deny edit {"path": ".env"}`, or without what is expected. */
export function readCases(text: string): RemotePolicyTest['cases'] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, verdict, call = line] = /^(allow|ask|deny)\s+(.*)$/s.exec(line) ?? []
      const [, tool = 'shell', input = call] = /^([\w:.-]+)\s+(\{.*\})$/s.exec(call) ?? []
      return { tool, input: inputOf(tool, input), ...(verdict !== undefined && { expect: verdict as 'allow' }) }
    })
}
