import { execFileSync } from 'node:child_process'
import { chmodSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, vi } from 'vitest'
import { onFailpoint } from '../../src/core/log.ts'
import { textOf } from '../../src/core/turn.ts'
import { createAgent } from '../../src/create-agent.ts'
import { createProcessContext } from '../../src/execution/process.ts'
import { createSession } from '../../src/sessions/index.ts'
import { call, scripted } from '../../src/testing/index.ts'
import { shell } from '../../src/tools/index.ts'
import { emptyView, foldEntries } from '../../src/view/session-view.ts'
import { testInTurns } from '../soak.ts'
import { desk, run, write } from './way-back-kit.ts'

const test = testInTurns(2)

const noFiles = { restore: [], delete: [], conflicts: [] }

describe('a session goes back', () => {
  test('CK09 snapshots beyond their limit are removed before a run ends, which may be long or be killed', async () => {
    onTestFinished(() => void vi.restoreAllMocks())
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const calls = ['1', '2', '3', '4', '5'].map((id) => run(id, `echo ${id} > a.txt`))
    const { agent, kept } = await desk([...calls, 'Done.'], { keep: 2 })
    const counts: number[] = []
    agent.hooks.hook('tool:after', () => {
      const refs = ['for-each-ref', 'refs/snapshots/']
      const repository = join(kept, readdirSync(kept)[0]!)
      counts.push(execFileSync('git', refs, { cwd: repository, encoding: 'utf8' }).trim().split('\n').length)
    })
    await agent.run({ prompt: 'Work.' })
    expect(counts).toEqual([1, 2, 2, 2, 2]) // nothing had changed before the first call
  })

  test('CK01 CK02 snapshots are taken before each prompt and before each call that may write, with what no tool announced; none by default', async () => {
    const { agent, notes, put, snapshots, session, seqBefore, read } = await desk([
      [call('r', 'read_file', { path: 'a.txt' })],
      run('1', 'echo made > made.txt; echo more >> a.txt'),
      write('2', 'b.txt', 'two'),
      'Done.',
      'You are welcome.',
    ])
    put('a.txt', 'mine\n')
    await agent.run({ prompt: 'Work.' })
    await agent.run({ prompt: 'Thanks.' })
    expect(await notes()).toEqual(['prompt', 'call', 'call', 'end', 'prompt'])
    const plan = await snapshots.planRollback(session, { to: await seqBefore('Work.') })
    expect(plan.files).toEqual({ restore: ['a.txt'], delete: ['b.txt', 'made.txt'], conflicts: [] })
    expect(plan.turns).toHaveLength(10)
    // To between the two calls.
    const results: number[] = []
    for await (const entry of session.entries()) if (entry.type === 'call_result') results.push(entry.seq)
    await snapshots.rollback(session, { to: results[1]!, scope: 'files' })
    expect([read('made.txt'), read('b.txt'), read('a.txt')]).toEqual(['made\n', undefined, 'mine\nmore\n'])
    await agent.destroy()

    const plain = createAgent({
      provider: scripted(run('1', 'true'), 'Done.'),
      session: await createSession(),
      tools: { shell },
    })
    await plain.run({ prompt: 'Work.' })
    expect(plain.session?.log.transcript.states.has('snapshot')).toBe(false)
    await plain.destroy()
  })

  test('CK03 CK04 conversation and files go back together or alone; what a person changed meanwhile is shown and kept, and by force it is in the undo', async () => {
    const { agent, put, read, snapshots, session, store, seqBefore, said, folder } = await desk([
      write('1', 'plan.txt', 'dig\n'),
      'Dug.',
      run('2', 'echo water > plan.txt; echo two > beds.txt; rm old.txt; chmod +x run.sh'),
      'Watered.',
    ])
    put('plan.txt', 'sow\n')
    put('old.txt', 'old\n')
    put('run.sh', 'true\n')
    chmodSync(join(folder, 'run.sh'), 0o600)
    await agent.run({ prompt: 'Dig' })
    await agent.run({ prompt: 'Water' })
    put('beds.txt', 'two of mine\n') // a person goes on with it
    put('diary.txt', 'mine\n')
    const to = await seqBefore('Water')
    const files = {
      restore: ['old.txt', 'plan.txt', 'run.sh'],
      delete: [],
      conflicts: [{ path: 'beds.txt', why: 'it was changed since' }],
    }
    expect((await snapshots.planRollback(session, { to })).files).toEqual(files)
    const result = await snapshots.rollback(session, { to })
    expect(result).toEqual({
      turns: 4,
      files: { restored: files.restore, deleted: [], conflicts: files.conflicts, failed: [] },
    })
    expect([read('plan.txt'), read('old.txt'), read('beds.txt'), read('diary.txt')]).toEqual([
      'dig\n',
      'old\n',
      'two of mine\n',
      'mine\n',
    ])
    expect(statSync(join(folder, 'run.sh')).mode & 0o777).toBe(0o600)
    expect(said()).toEqual(['Dig', '…', '…', 'Dug.'])

    expect((await snapshots.undoRollback(session)).turns).toBe(4)
    expect([read('plan.txt'), read('old.txt')]).toEqual(['water\n', undefined])
    expect(said()).toEqual(['Dig', '…', '…', 'Dug.', 'Water', '…', '…', 'Watered.'])
    await snapshots.undoRollback(session) // the undo of the undo
    expect([read('plan.txt'), said().length]).toEqual(['dig\n', 4])
    await snapshots.undoRollback(session)
    expect([read('plan.txt'), said().length]).toEqual(['water\n', 8])

    await snapshots.rollback(session, { to: await seqBefore('Dig'), scope: 'files', force: true })
    expect([read('plan.txt'), read('beds.txt'), read('diary.txt'), said().length]).toEqual([
      'sow\n',
      undefined,
      'mine\n',
      8,
    ])
    const { rows } = foldEntries(emptyView, await store.read('one'))
    expect(rows.at(-1)).toMatchObject({
      kind: 'notice',
      about: 'files',
      text: expect.stringContaining('were restored'),
    })
    await snapshots.undoRollback(session)
    expect([read('plan.txt'), read('beds.txt')]).toEqual(['water\n', 'two of mine\n'])
    await snapshots.rollback(session, { to, scope: 'conversation' })
    expect([read('plan.txt'), said().length]).toEqual(['water\n', 4])
    await agent.destroy()
  }, 60_000)

  test('CK03 after the agent was destroyed the plan, the rollback and the undo work, and so does another agent with the same snapshots', async () => {
    const { agent, put, read, snapshots, session, seqBefore, folder } = await desk([write('1', 'a.txt', 'dug'), 'Dug.'])
    put('a.txt', 'mine')
    await agent.run({ prompt: 'Dig' })
    await agent.destroy()
    const to = await seqBefore('Dig')
    expect((await snapshots.planRollback(session, { to })).files).toMatchObject({ restore: ['a.txt'] })
    await snapshots.rollback(session, { to })
    expect(read('a.txt')).toBe('mine')
    await snapshots.undoRollback(session)
    expect(read('a.txt')).toBe('dug')
    // Two agents with the same snapshots, of which one ends while the other works.
    const ends = createAgent({ provider: scripted('Done.'), extensions: [snapshots.extension] })
    const end = {
      spec: { name: 'end', description: 'Ends the other agent.', inputSchema: { type: 'object' } },
      execute: () => ends.destroy().then(() => 'ended'),
    }
    const other = createAgent({
      ...{ provider: scripted([call('1', 'end', {})], run('2', 'echo new > b.txt'), 'Done.'), session },
      ...{ execution: createProcessContext({ cwd: folder }), tools: { shell, end } },
      extensions: [snapshots.extension],
    })
    await ends.run({ prompt: 'Nothing.' })
    await other.run({ prompt: 'Build' })
    await snapshots.close()
    expect((await snapshots.planRollback(session, { to: await seqBefore('Build') })).files).toMatchObject({
      delete: ['b.txt'],
    })
    await other.destroy()
  })

  test('CK03 to before a message that an undo brought back, files go back as the first time', async () => {
    const { agent, put, read, snapshots, session, store, said } = await desk([
      ...[write('1', 'plan.txt', 'dig\n'), 'Dug.', 'At once.'],
      ...[write('2', 'plan.txt', 'water\n'), 'Watered.'],
      ...[write('3', 'plan.txt', 'reap\n'), 'Reaped.'],
    ])
    put('plan.txt', 'sow\n')
    const stop = agent.hooks.hook('tool:after', () => void agent.followUp('Quickly'))
    await agent.run({ prompt: 'Dig' })
    stop()
    await agent.run({ prompt: 'Water' })
    const seqOf = async (text: string): Promise<number> => {
      let last = 0
      for await (const entry of session.entries())
        if (entry.type === 'turn' && JSON.stringify(entry.turn.content).includes(`"${text}"`)) last = entry.seq
      return last
    }
    const cost = async () => {
      const { tokens } = (await store.find('one'))!
      return { tokens, usage: foldEntries(emptyView, await store.read('one')).usage }
    }
    const before = await cost()
    expect(before.usage.calls).toBe(5)
    // All that the log tells about messages, answers and calls, but not where.
    const rowsOf = async () => {
      const rows = [...foldEntries(emptyView, await store.read('one')).rows].filter(({ kind }) => kind !== 'notice')
      return rows.map((row) => {
        const { seq: _, ...shown } = row
        if (shown.kind === 'message') return { ...shown, from: 0 }
        return shown.kind === 'call' && shown.result ? { ...shown, result: { ...shown.result, seq: 0 } } : shown
      })
    }
    const rowsBefore = await rowsOf()
    expect(rowsBefore).toContainEqual(expect.objectContaining({ kind: 'message', mode: 'followUp' }))
    const known = { started: expect.anything(), result: expect.objectContaining({ details: expect.anything() }) }
    expect(rowsBefore).toContainEqual(expect.objectContaining({ id: '2', state: 'over', ...known }))
    for (const redone of [1, 2]) {
      await snapshots.rollback(session, { to: 0 })
      expect([redone, read('plan.txt')]).toEqual([redone, 'sow\n'])
      await snapshots.undoRollback(session)
      expect([redone, read('plan.txt'), said().length]).toEqual([redone, 'water\n', 10])
    }
    expect(await cost()).toEqual(before)
    expect(await rowsOf()).toEqual(rowsBefore)
    const { rows } = foldEntries(emptyView, await store.read('one'))
    const notices = [...rows].flatMap((row) => (row.kind === 'notice' ? row.text : []))
    expect(notices.at(-1)).toBe('What was taken back is part of the conversation again')
    const messages = [...rows].filter((row) => row.kind === 'message')
    expect(messages.map(({ content, isNote }) => [textOf({ role: 'user', content }), isNote])).toEqual([
      ['Dig', undefined],
      ['Quickly', undefined],
      ['Water', undefined],
    ])
    await agent.run({ prompt: 'Reap' })
    expect((await snapshots.planRollback(session, { to: (await seqOf('Reap')) - 1 })).turns).toHaveLength(4)
    await snapshots.rollback(session, { to: (await seqOf('Water')) - 1 })
    expect([read('plan.txt'), said()]).toEqual(['dig\n', ['Dig', '…', '…', 'Dug.', 'Quickly', 'At once.']])
    await snapshots.rollback(session, { to: (await seqOf('Dig')) - 1 })
    expect([read('plan.txt'), said()]).toEqual(['sow\n', []])
    await agent.destroy()
  }, 60_000)

  test('CK03 a plan is refused while an undo is under way, and lists the files if the undo was cut off', async () => {
    const { agent, put, read, snapshots, session } = await desk([write('1', 'plan.txt', 'dig\n'), 'Dug.'])
    put('plan.txt', 'sow\n')
    await agent.run({ prompt: 'Dig' })
    const plan = () => snapshots.planRollback(session, { to: 0 }).catch(({ code }) => ({ files: code }))
    const { files } = await plan()
    expect(files).toEqual({ restore: ['plan.txt'], delete: [], conflicts: [] })
    await snapshots.rollback(session, { to: 0 })
    let meanwhile: Promise<unknown> | undefined
    onFailpoint((name) => {
      if (name === 'rollback.logged') meanwhile = plan()
      if (name === 'rollback.done') throw new Error('power cut')
    })
    await expect(snapshots.undoRollback(session)).rejects.toThrow('power cut')
    onFailpoint(undefined)
    expect(await meanwhile).toEqual({ files: 'at_work' })
    expect([read('plan.txt'), (await plan()).files]).toEqual(['dig\n', files])
    await snapshots.rollback(session, { to: 0 })
    onFailpoint((name) => {
      if (name === 'rollback.logged') throw new Error('power cut')
    })
    await expect(snapshots.undoRollback(session)).rejects.toThrow('power cut')
    onFailpoint(undefined)
    // Nothing has come back to the disk yet, so nothing would leave it.
    expect([read('plan.txt'), (await plan()).files]).toEqual(['sow\n', noFiles])
    await snapshots.undoRollback(session) // finishes the undo first
    expect(read('plan.txt')).toBe('sow\n')
    await snapshots.undoRollback(session)
    expect((await plan()).files).toEqual(files)
    await agent.destroy()
  }, 60_000)
})
