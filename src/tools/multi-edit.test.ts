import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { applyPatch } from 'diff'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ExecutionContext } from '../core/execution.ts'
import { createProcessContext } from '../execution/process.ts'
import { createAgent } from '../index.ts'
import { digestOf } from '../platform/digest.ts'
import { call, memoryExecution, scripted } from '../testing/index.ts'
import type { EditDetails } from './edit-file.ts'
import { multiEdit } from './multi-edit.ts'

let folder: string
let execution: ExecutionContext
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'libero-multi-edit-'))
  execution = createProcessContext({ cwd: folder })
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const file = (): string => join(folder, 'a.txt')
const held = (): string => readFileSync(file(), 'utf8')

interface Outcome {
  output: string
  isError: boolean
  details: Partial<EditDetails>
}

async function run(edits: unknown, place = execution): Promise<Outcome> {
  const agent = createAgent({
    provider: scripted([call('1', 'multi_edit', { path: 'a.txt', edits })], 'done'),
    tools: { multiEdit },
    execution: place,
  })
  const outcome: Outcome = { output: '', isError: false, details: {} }
  agent.hooks.hook('tool:after', ({ details }) => {
    if (details) outcome.details = details
  })
  agent.hooks.hook('tool-results:after', ({ resultTurn: { content } }) => {
    const [block] = content
    if (block?.type !== 'tool_result') return
    outcome.output = String(block.output)
    outcome.isError = block.isError === true
  })
  await agent.run({ prompt: 'go' })
  return outcome
}

type Triple = [old_string: string, new_string: string, replace_all: boolean]

const change = (old_string: string, new_string: string, replace_all?: boolean) => ({
  old_string,
  new_string,
  ...(replace_all !== undefined && { replace_all }),
})

describe('several edits', () => {
  test('A145 are made in order, each on the result of the one before', async () => {
    writeFileSync(file(), 'one\r\ntwo\r\none\r\n')
    const { output, details } = await run([
      change('one', 'two', true),
      change('two\ntwo\ntwo', 'three\ntwo\ntwo'),
      change('three', '3'),
    ])
    expect(output).toBe('Edited a.txt: 3 edits, 4 replacements')
    expect(held()).toBe('3\r\ntwo\r\ntwo\r\n')
    expect(details).toMatchObject({
      replacements: 4,
      file: { access: 'edit', digest: digestOf('3\r\ntwo\r\ntwo\r\n') },
    })
    expect(applyPatch('one\r\ntwo\r\none\r\n', details.diff!, { autoConvertLineEndings: false })).toBe(held())
  })

  test('A145 are not made at all when the second fails', async () => {
    writeFileSync(file(), 'alpha\nbeta\n')
    const before = statSync(file(), { bigint: true })
    const { output, isError, details } = await run([
      change('alpha', 'ALPHA'),
      change('gamma', 'x'),
      change('beta', 'y'),
    ])
    expect(output).toBe(
      'multi_edit error: edit #2 old_string was not found. Nothing in the file is like it; read the file again\nNone of the edits was made: "a.txt" is as it was. The line numbers are those after the edits before it.',
    )
    expect(isError).toBe(true)
    expect(details).toEqual({})
    expect(held()).toBe('alpha\nbeta\n')
    const after = statSync(file(), { bigint: true })
    expect([after.mtimeNs, after.ino]).toEqual([before.mtimeNs, before.ino])
  })

  test('A145 may need an edit before them: order counts', async () => {
    writeFileSync(file(), 'a\n')
    expect((await run([change('b', 'c'), change('a', 'b')])).output).toMatch(
      /^multi_edit error: edit #1 old_string was not found/,
    )
    expect((await run([change('a', 'b'), change('b', 'c')])).output).toBe('Edited a.txt: 2 edits, 2 replacements')
    expect(held()).toBe('c\n')
  })

  test('say which of them was not exact', async () => {
    writeFileSync(file(), 'some words  \nother\n')
    const { output } = await run([change('other', 'x'), change('some words\nx', 'new words\nx')])
    expect(output).toContain('Edited a.txt: 2 edits, 2 replacements\nedit #2: old_string did not match exactly')
    expect(held()).toBe('new words\nx\n')
  })

  test('that undo each other leave the file alone', async () => {
    writeFileSync(file(), 'a\n')
    const before = statSync(file(), { bigint: true }).mtimeNs
    const { output, details } = await run([change('a', 'b'), change('b', 'a')])
    expect(output).toBe('Edited a.txt: 2 edits, 2 replacements; together they change nothing')
    expect(details).toMatchObject({ diff: '', file: { digest: digestOf('a\n') } })
    expect(statSync(file(), { bigint: true }).mtimeNs).toBe(before)
  })

  test('are checked, each of them', async () => {
    writeFileSync(file(), 'a\na\n')
    expect((await run([])).output).toBe('Validation error: "edits" is empty; give at least one edit')
    expect((await run([change('a', 'b'), { old_string: 'a' }])).output).toBe(
      'Validation error: edit #2: missing required property "new_string"',
    )
    expect((await run(['x'])).output).toBe('Validation error: edit #1: expected an object, got string')
    expect(multiEdit.check?.({ edits: [change('\uD83D', '')] })).toMatchObject({ valid: false })
    expect(held()).toBe('a\na\n')
    expect((await run([{ old_string: 'a', new_string: 5, replace_all: 'yes' }])).output).toBe(
      'Edited a.txt: 1 edit, 2 replacements',
    )
    expect(held()).toBe('5\n5\n')
  })

  test('work where a context has only the seven verbs', async () => {
    const memory = memoryExecution({ files: { 'a.txt': 'a\nb\n' } })
    await run([change('a', 'x'), change('b', 'y')], memory)
    expect(memory.files.get('/project/a.txt')).toBe('x\ny\n')
  })

  test('declare what they are', () => {
    expect(multiEdit).toMatchObject({ isConcurrencySafe: false, replay: 'keyed', effects: ['fs.read', 'fs.write'] })
    expect(multiEdit.touches?.({ path: 'b/c', edits: [] })).toEqual([{ path: 'b/c', access: 'edit' }])
    expect(multiEdit.deriveApprovalKey?.({ path: 'b/c', edits: [] })).toBe('b')
  })
})

test('A145 whatever they are, edits of which one fails leave the bytes identical', async () => {
  const word = fc.constantFrom('alpha', 'beta', 'gamma delta', '  deep', '“x”')
  const text = fc
    .array(fc.tuple(word, fc.constantFrom('\n', '\r\n', '\r', ' \n')), { minLength: 1, maxLength: 8 })
    .map((lines) => lines.flat().join(''))
  const edits = fc.array(fc.tuple(word, word, fc.boolean()), { maxLength: 3 })
  const seen = { early: 0, late: 0 }
  await fc.assert(
    fc.asyncProperty(text, edits, edits, async (content, before, after) => {
      const memory = memoryExecution({ files: { 'a.txt': content } })
      const failing: Triple = ['not there at all', 'x', false]
      const { output, isError } = await run(
        [...before, failing, ...after].map((edit) => change(...edit)),
        memory,
      )
      expect(isError).toBe(true)
      const index = Number(/^multi_edit error: edit #(\d+) /.exec(output)?.[1])
      expect(index).toBeGreaterThan(0)
      expect(index).toBeLessThanOrEqual(before.length + 1)
      seen[index === before.length + 1 && index > 1 ? 'late' : 'early']++
      expect(memory.files.get('/project/a.txt')).toBe(content)
    }),
    { numRuns: 200, seed: 31 },
  )
  expect(Math.min(seen.early, seen.late)).toBeGreaterThan(10)
})
