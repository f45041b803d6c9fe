import { describe, expect, test } from 'vitest'
import type { Session } from '../../src/core/store.ts'
import { type Behavior, createAgent, createMemoryStore, createSession, loadSession } from '../../src/index.ts'
import { call, memoryExecution, type Step, scripted } from '../../src/testing/index.ts'
import { edit } from '../../src/tools/edit.ts'
import { multiEdit } from '../../src/tools/multi-edit.ts'
import { readFile } from '../../src/tools/read-file.ts'
import { createSpawnTool } from '../../src/tools/spawn.ts'
import { writeFile } from '../../src/tools/write-file.ts'

const poem =
  'roses are red\nviolets are blue\nand this line is there to make the poem longer than any stub that could replace it\n'
const read = (id: string, more: object = {}): Step => [call(id, 'read_file', { path: 'poem.txt', ...more })]
const paint = (id: string, from = 'red', to = 'white'): Step => [
  call(id, 'edit', { path: 'poem.txt', old_string: from, new_string: to }),
]

describe('a file that is read again', () => {
  test('A169 the same part with the same content gives a short note', async () => {
    const { results } = await talk([read('1'), read('2')])
    expect(results['1']).toContain('1\troses are red')
    expect(results['2']).toBe('[Unchanged since it was read above: "poem.txt", the same part, the same content.]')
  })

  test('A170 another part is read', async () => {
    const { results } = await talk([read('1'), read('2', { offset: 2, limit: 1 }), read('3', { offset: 2, limit: 1 })])
    expect(results['2']).toContain('violets are blue')
    expect(results['3']).toMatch(/^\[Unchanged|violets/) // a note is never longer than what it stands for
  })

  test('A170 a changed file is read again, whatever changed it', async () => {
    const { results } = await talk([read('1'), paint('2'), read('3'), read('4')])
    expect(results['3']).toContain('roses are white')
    expect(results['4']).toContain('Unchanged')
    const changed = await talk([read('1'), read('2')], { between: (files) => files.set('/project/poem.txt', 'gone\n') })
    expect(changed.results['2']).toContain('gone')
  })

  test('a third read of the same is a note as well, and notes never point to notes', async () => {
    const { results } = await talk([read('1'), read('2'), read('3')])
    expect(results['3']).toContain('Unchanged')
  })

  test('what the model no longer has before its eyes is read in full', async () => {
    const behavior = { compactStrategy: 'tail', compactThreshold: 10, compactKeepTurns: 1 } as const
    const { results } = await talk([read('1'), [call('x', 'read_file', { path: 'other.txt' })], read('2')], {
      behavior,
    })
    expect(results['2']).toContain('roses are red')
  })

  test('what was kept in a file of its own can be read back, and the original once more', async () => {
    const behavior = { persistThreshold: 50, persistDir: 'kept' }
    const twice = await talk([read('1'), read('2')], { behavior })
    expect(twice.results['1']).toContain('<persisted-output')
    expect(twice.results['2']).toContain('<persisted-output')
    const kept = [...twice.files.keys()].find((name) => name.includes('/kept/'))!
    const back = await talk([[call('2', 'read_file', { path: kept })]], {
      behavior,
      files: Object.fromEntries(twice.files),
    })
    expect(back.results['2']).toContain('roses are red')
    expect(back.results['2']).not.toContain('<persisted-output')
  })

  test('it can be turned off', async () => {
    const { results } = await talk([read('1'), read('2')], { behavior: { dedupReads: false } })
    expect(results['2']).toBe(results['1'])
  })

  test('an agent that goes on after a restart still knows what it has read', async () => {
    const store = createMemoryStore()
    const session = await createSession({ store, id: 's' })
    await talk([read('1')], { session })
    const again = await loadSession(store, 's')
    const { results } = await talk([read('2')], { session: again! })
    expect(results['2']).toContain('Unchanged')
  })
})

describe('an edit of a file that was not read', () => {
  const strict = { requireReadBeforeEdit: true }

  test('A171 is refused, and so is a multi_edit', async () => {
    const edits = [{ old_string: 'red', new_string: 'white' }]
    const { results, files } = await talk([paint('1'), [call('2', 'multi_edit', { path: 'poem.txt', edits })]], {
      behavior: strict,
    })
    expect(results['1']).toBe('Blocked: "poem.txt" must be read before it is edited; read it first.')
    expect(results['2']).toBe(results['1'])
    expect(files.get('/project/poem.txt')).toBe(poem)
  })

  test('A171 goes through after a read, and edits may follow each other', async () => {
    const { results, files } = await talk([read('1'), paint('2'), paint('3', 'white', 'black')], { behavior: strict })
    expect(results['2']).not.toContain('Blocked')
    expect(results['3']).not.toContain('Blocked')
    expect(files.get('/project/poem.txt')).toContain('roses are black')
  })

  test('A171 FT-18 is refused when the file has changed since, with the lines that differ', async () => {
    const { results, files } = await talk([read('1'), paint('2')], {
      behavior: strict,
      between: (tree) => tree.set('/project/poem.txt', poem.replace('violets are blue', 'violets are gone')),
    })
    expect(results['2']).toBe(
      'Blocked: "poem.txt" has changed since it was read; read it again. It differs from line 2 on:\n-2 violets are blue\n+2 violets are gone',
    )
    expect(files.get('/project/poem.txt')).toContain('roses are red')
  })

  test('A172 without dedup the reads still count', async () => {
    const { results } = await talk([read('1'), paint('2')], { behavior: { ...strict, dedupReads: false } })
    expect(results['2']).not.toContain('Blocked')
  })

  test('A173 a path may be written in several ways', async () => {
    const { results } = await talk([[call('1', 'read_file', { path: './sub/../poem.txt' })], paint('2')], {
      behavior: strict,
    })
    expect(results['2']).not.toContain('Blocked')
  })

  test('a write may replace a file that was not read, but not one that changed since it was read', async () => {
    const write = (id: string): Step => [call(id, 'write_file', { path: 'poem.txt', content: 'new' })]
    expect((await talk([write('1')], { behavior: strict })).results['1']).toContain('Updated')
    const { results, files } = await talk([read('1'), write('2')], {
      behavior: strict,
      between: (tree) => tree.set('/project/poem.txt', 'theirs'),
    })
    expect(results['2']).toContain('has changed since it was read')
    expect(files.get('/project/poem.txt')).toBe('theirs')
  })

  test('what was read before a reset does not count', async () => {
    const execution = memoryExecution({ files: { 'poem.txt': poem } })
    const provider = scripted(read('1'), 'read', paint('2'), 'done')
    const agent = createAgent({ provider, tools: { readFile, edit }, execution, behavior: strict })
    await agent.run({ prompt: 'read' })
    agent.reset()
    await agent.run({ prompt: 'paint' })
    expect(execution.files.get('/project/poem.txt')).toBe(poem)
  })

  test('what was written may be edited', async () => {
    const write: Step = [call('1', 'write_file', { path: 'new.txt', content: 'one two' })]
    const change: Step = [call('2', 'edit', { path: 'new.txt', old_string: 'two', new_string: 'three' })]
    const { files } = await talk([write, change], { behavior: strict })
    expect(files.get('/project/new.txt')).toBe('one three')
  })

  test('a missing file is the tool’s to explain', async () => {
    const missing: Step = [call('1', 'edit', { path: 'none.txt', old_string: 'a', new_string: 'b' })]
    expect((await talk([missing], { behavior: strict })).results['1']).toContain('there is no "none.txt"')
  })

  test.each([true, false])('A194 a child edits what its parent has read: %s', async (shareReadState) => {
    const steps: Step[] = [
      read('1'),
      [call('2', 'spawn', { task: 'paint it' })],
      paint('c1'),
      'painted',
      paint('3', 'white', 'black'),
      'done',
    ]
    const { results, files } = await talk(steps, { behavior: strict, shareReadState })
    expect(files.get('/project/poem.txt')).toContain(shareReadState ? 'roses are black' : 'roses are red')
    expect(results['3']?.includes('Edited')).toBe(shareReadState)
  })

  test('A194 a child reads in full what only its parent has before its eyes', async () => {
    const steps: Step[] = [read('1'), [call('2', 'spawn', { task: 'look' })], read('c1'), 'seen', 'done']
    const { requests } = await talk(steps, { shareReadState: true })
    expect(JSON.stringify(requests[3]!.messages)).toContain('roses are red')
  })
})

describe('stale reads', () => {
  const stub = '[What was read of "poem.txt" is left out: a later call changed it or read it again.]'

  test('A174 a read that a later edit made old is left out of the request, and stays in the session', async () => {
    const { requests, session } = await talk([read('1'), paint('2'), read('3')], {
      behavior: { elideStaleReads: true },
    })
    expect(shownIn(requests[1]!, '1')).toContain('roses are red')
    expect(shownIn(requests[2]!, '1')).toBe(stub)
    expect(shownIn(requests[3]!, '1')).toBe(stub)
    expect(shownIn(requests[3]!, '3')).toContain('roses are white')
    expect(JSON.stringify(session.turns)).toContain('roses are red')
    expect(requests[3]!.messages[2]).toBe(requests[2]!.messages[2])
  })

  test('A174 a second read takes the place of the first, unless it only points to it', async () => {
    const twice = await talk([read('1'), read('2')], { behavior: { elideStaleReads: true, dedupReads: false } })
    expect(shownIn(twice.requests[2]!, '1')).toBe(stub)
    const noted = await talk([read('1'), read('2')], { behavior: { elideStaleReads: true } })
    expect(shownIn(noted.requests[2]!, '1')).toContain('roses are red')
  })

  test('A174 a write that changes nothing makes no read old', async () => {
    const same: Step = [call('2', 'write_file', { path: 'poem.txt', content: poem })]
    const { requests, results } = await talk([read('1'), same], { behavior: { elideStaleReads: true } })
    expect(results['2']).toContain('No change needed')
    expect(shownIn(requests[2]!, '1')).toContain('roses are red')
  })

  test('A174 another part of the same content stays', async () => {
    const steps = [read('1', { limit: 1 }), read('2', { offset: 2 })]
    const { requests } = await talk(steps, { behavior: { elideStaleReads: true } })
    expect(shownIn(requests[2]!, '1')).toContain('roses are red')
  })

  test('A174 nothing is left out unless it was asked for', async () => {
    const { requests } = await talk([read('1'), paint('2')])
    expect(shownIn(requests[2]!, '1')).toContain('roses are red')
  })
})

interface Talk {
  readonly behavior?: Behavior
  readonly session?: Session
  readonly shareReadState?: boolean
  readonly files?: Readonly<Record<string, string>>
  /** Changes the file from outside, before the last step. */
  readonly between?: (files: Map<string, string>) => void
}

async function talk(steps: readonly Step[], { behavior = {}, between, shareReadState = false, ...options }: Talk = {}) {
  const execution = memoryExecution({ files: { 'poem.txt': poem, 'other.txt': 'something else', ...options.files } })
  const last = steps.filter((step) => typeof step !== 'string').length
  const session = options.session ?? (await createSession())
  const provider = scripted(...steps, ...(typeof steps.at(-1) === 'string' ? [] : ['done']))
  const tools = { readFile, writeFile, edit, multiEdit, spawn: createSpawnTool({ shareReadState }) }
  const agent = createAgent({ provider, tools, execution, behavior, session })
  let turn = 0
  agent.hooks.hook('turn:before', () => {
    if (++turn === last) between?.(execution.files)
  })
  const results: Record<string, string> = {}
  await agent.run({ prompt: 'go' })
  for (const { content } of agent.turns)
    for (const block of content) if (block.type === 'tool_result') results[block.callId] = String(block.output)
  return { results, requests: provider.requests, files: execution.files, session }
}

function shownIn(request: { messages: readonly { content: readonly object[] }[] }, callId: string): string {
  for (const { content } of request.messages)
    for (const block of content as { callId?: string; output?: string }[])
      if (block.callId === callId) return String(block.output)
  return ''
}
