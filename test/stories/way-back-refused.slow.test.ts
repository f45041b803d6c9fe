import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { onFailpoint } from '../../src/core/log.ts'
import type { Session } from '../../src/core/store.ts'
import { createAgent } from '../../src/create-agent.ts'
import { createProcessContext } from '../../src/execution/process.ts'
import { createSession, loadSession } from '../../src/sessions/index.ts'
import { createSnapshots } from '../../src/snapshots/index.ts'
import { memoryExecution, scripted } from '../../src/testing/index.ts'
import { shell, writeFile as writeFileTool } from '../../src/tools/index.ts'
import { testInTurns } from '../soak.ts'
import { temporary } from '../temporary.ts'
import { desk, run, write } from './way-back-kit.ts'

const test = testInTurns(2)

describe('a rollback of a session', () => {
  test('CK05 what cannot be done is refused with a reason, and nothing is changed', async () => {
    const { agent, snapshots, session, seqBefore, store, put, read } = await desk([
      write('1', 'a.txt', 'x'),
      'Done.',
      'More.',
      'Held.',
    ])
    await expect(snapshots.undoRollback(session)).rejects.toMatchObject({ code: 'nothing_to_undo' })
    await agent.run({ prompt: 'Work.' })
    await expect(snapshots.rollback(session, { to: 9999 })).rejects.toThrow(
      /has \d+ entries; it cannot be rolled back to 9999/,
    )
    const to = await seqBefore('Work.')
    await snapshots.rollback(session, { to })
    await agent.run({ prompt: 'Again.' })
    await expect(snapshots.undoRollback(session)).rejects.toMatchObject({ code: 'went_on' })
    const other = await loadSession(store, 'one')
    await other.open()
    await expect(snapshots.rollback(session, { to })).rejects.toMatchObject({ code: 'at_work' })
    await other.release()
    const refused: unknown[] = []
    agent.hooks.hook('turn:before', async () => {
      for (const force of [false, true])
        refused.push(await snapshots.planRollback(session, { to, force }).catch(({ code }) => code))
    })
    await agent.run({ prompt: 'What would be undone?' })
    expect(refused).toEqual(['at_work', 'at_work'])
    put('a.txt', 'mine')
    await snapshots.rollback(session, { to, scope: 'files' })
    expect(read('a.txt')).toBe('mine')
    await agent.destroy()
  })

  test('CK04 CK05 what a person changed between a run that was killed and the next one is not taken for its work, except by force, whose undo brings it back', async () => {
    const { agent, execution, snapshots, session, put, read, killedAfter } = await desk([
      ...[write('1', 'a.txt', 'dug'), run('2', 'true'), 'Done.'],
    ])
    put('a.txt', 'mine')
    put('notes.md', 'mine')
    await agent.run({ prompt: 'Work.' })
    await agent.destroy()
    let started = 0
    for await (const entry of session.entries()) if (entry.type === 'call_started') started = entry.seq
    const killed = await killedAfter(started)
    put('notes.md', 'mine, and more')
    put('new.md', 'mine too')
    const next = createAgent({
      ...{ provider: scripted('Yes?'), session: killed, execution },
      extensions: [snapshots.extension],
    })
    await next.run({ prompt: 'Hello?' })
    await next.destroy()
    const files = () => [read('a.txt'), read('notes.md'), read('new.md')]
    const mine = files()
    for (const refused of [snapshots.planRollback(killed, { to: 0 }), snapshots.rollback(killed, { to: 0 })])
      await expect(refused).rejects.toMatchObject({ code: 'cut_off', message: expect.stringMatching(/^a run was cut/) })
    expect(files()).toEqual(mine)
    await snapshots.rollback(killed, { to: 0, force: true })
    expect(files()).toEqual(['mine', 'mine', undefined])
    await snapshots.undoRollback(killed)
    expect(files()).toEqual(mine)
    expect((await snapshots.changedFiles(killed)).map(({ path }) => path)).toEqual(['a.txt', 'new.md', 'notes.md'])
    await expect(snapshots.planRollback(killed, { to: 0 })).rejects.toMatchObject({ code: 'cut_off' })
    // Once it is undone it hinders no other rollback: later changes of others are told apart again.
    await snapshots.rollback(killed, { to: 0, scope: 'files', force: true })
    put('notes.md', 'mine again')
    expect((await snapshots.planRollback(killed, { to: 0 })).files).toEqual({ restore: [], delete: [], conflicts: [] })
  })

  test('CK05 on a full disk a rollback is refused and changes nothing, neither files nor conversation', async () => {
    const folder = await temporary('desk-')
    const disk = createProcessContext({ cwd: folder })
    let isFull = false
    const execution: typeof disk = {
      ...disk,
      exec: (handle, command, ...rest) => disk.exec(handle, (isFull ? full : '') + command, ...rest),
    }
    const full = 'trap "" XFSZ; ulimit -f 8\n' // no file may get more than 4 KB
    const { agent, snapshots, session, store } = await desk([run('1', 'echo dig > plan; echo x > new'), 'Dug.'], {
      execution,
    })
    writeFileSync(join(folder, 'plan'), 'sow '.repeat(20_000))
    await agent.run({ prompt: 'Dig' })
    const { head } = (await store.find('one'))!
    isFull = true
    await expect(snapshots.rollback(session, { to: 0 })).rejects.toMatchObject({
      code: 'not_kept',
      message: expect.stringMatching(/^the files to restore cannot be written beside the others: error: .*plan/),
    })
    isFull = false
    expect([readdirSync(folder), (await store.find('one'))!.head]).toEqual([['new', 'plan'], head])
    await snapshots.rollback(session, { to: 0 })
    expect([readdirSync(folder), readFileSync(join(folder, 'plan'), 'utf8').length]).toEqual([['plan'], 80_000])
    await agent.destroy()
  })

  test('CK05 CK14 a run that removes its folder can be undone by force in a new one, and it is said why it has no last snapshot', async () => {
    const said: string[] = []
    const { agent, snapshots, session, folder, put, read } = await desk(
      [run('1', 'rm -r "$PWD"'), 'Gone.', 'Welcome.'],
      {
        onUnavailable: (why) => said.push(why),
      },
    )
    put('plan.txt', 'sow')
    expect((await agent.run({ prompt: 'Clean up' })).status).toBe('completed')
    expect(said).toEqual([expect.stringContaining(`${folder} does not exist (any more)`)])
    mkdirSync(folder)
    const refused = { code: 'cut_off', message: expect.stringContaining('does not exist (any more)') }
    await expect(snapshots.rollback(session, { to: 0 })).rejects.toMatchObject(refused)
    put('plan.txt', 'mine')
    await agent.run({ prompt: 'Thanks' }) // its first snapshot has what a person changed since
    await expect(snapshots.rollback(session, { to: 0 })).rejects.toMatchObject(refused)
    await snapshots.rollback(session, { to: 0, force: true })
    expect(read('plan.txt')).toBe('sow')
    await agent.destroy()
  })

  test('CK05 of two sessions in one folder only one is rolled back at a time, and the other one is refused', async () => {
    const { agent, snapshots, kept, session, store, folder, put, read } = await desk([
      run('1', 'echo dig > plan'),
      'Dug.',
    ])
    put('plan', 'sow')
    await agent.run({ prompt: 'Dig' })
    const second = await createSession({ store, id: 'two' })
    const other = createAgent({
      ...{ provider: scripted(run('1', 'echo two > beds'), 'Made.'), session: second, tools: { shell } },
      ...{ execution: createProcessContext({ cwd: folder }), extensions: [snapshots.extension] },
    })
    await other.run({ prompt: 'Make beds' })
    let meanwhile: Promise<unknown> | undefined
    onFailpoint((name) => {
      if (name === 'rollback.logged') meanwhile ??= elsewhere.rollback(second, { to: 0 }).catch((error) => error)
    })
    const elsewhere = createSnapshots({ execution: createProcessContext({ cwd: folder }), store: kept })
    await snapshots.rollback(session, { to: 0 })
    onFailpoint(undefined)
    expect(await meanwhile).toMatchObject({ code: 'at_work', message: expect.stringContaining('session one works') })
    expect([read('plan'), read('beds')]).toEqual(['sow', 'two\n'])
    await elsewhere.rollback(second, { to: 0 })
    expect([read('plan'), read('beds')]).toEqual(['sow', undefined])
    await elsewhere.close()
    await other.destroy()
    await agent.destroy()
  })

  test('CK14 a run of another session in the folder is told of a rollback that was cut off, until that is finished', async () => {
    const told: unknown[] = []
    const { agent, snapshots, session, store, folder, put, read } = await desk(
      [write('1', 'a.txt', 'x'), 'Done.', 'Yes?'],
      {
        onInterrupted: ({ outcome, session: of }) => told.push([outcome, of]),
      },
    )
    put('a.txt', 'mine')
    await agent.run({ prompt: 'Work.' })
    onFailpoint((name) => {
      if (name === 'rollback.logged') throw new Error('power cut')
    })
    await expect(snapshots.rollback(session, { to: 0, scope: 'files' })).rejects.toThrow('power cut')
    onFailpoint(undefined)
    const other = createAgent({
      ...{ provider: scripted('One.', 'Two.'), session: await createSession({ store, id: 'two' }) },
      ...{ execution: createProcessContext({ cwd: folder }), extensions: [snapshots.extension] },
    })
    await other.run({ prompt: 'Hello?' })
    expect([told, read('a.txt')]).toEqual([[['unfinished', 'one']], 'x'])
    await agent.run({ prompt: 'Hello?' })
    await other.run({ prompt: 'Hello again?' })
    expect([told.slice(1), read('a.txt')]).toEqual([[['finished', 'one']], 'mine'])
    await other.destroy()
    await agent.destroy()
  })

  test('CK06 an execution context that cannot keep files says so; the work goes on, and files stay', async () => {
    const said: string[] = []
    const execution = memoryExecution({ exec: () => ({ stdout: '', exitCode: 127 }) })
    const { agent, snapshots, session, seqBefore } = await desk([write('1', 'a.txt', 'x'), 'Done.'], {
      execution: { ...execution, capabilities: { ...execution.capabilities, shell: false } },
      onUnavailable: (why) => said.push(why),
    })
    expect((await agent.run({ prompt: 'Work.' })).status).toBe('completed')
    expect(said).toEqual([
      expect.stringMatching(/execution context ".*" runs no commands; snapshots need a POSIX shell and git/),
    ])
    const to = await seqBefore('Work.')
    await expect(snapshots.rollback(session, { to })).rejects.toThrow(/files were not kept there|runs no commands/)
    await agent.destroy()
  })

  test('CK07 a deleted session takes its snapshots along, and those of other sessions stay', async () => {
    const { agent, snapshots, session, seqBefore, put } = await desk([run('1', 'echo x > a'), 'Done.'])
    put('b', 'b')
    await agent.run({ prompt: 'Work.' })
    const to = await seqBefore('Work.')
    await snapshots.forget(['another'])
    expect((await snapshots.planRollback(session, { to })).files?.delete).toEqual(['a'])
    await snapshots.forget(['one'])
    const refused = { code: 'not_kept', message: expect.stringContaining('is not kept here') }
    await expect(snapshots.planRollback(session, { to })).rejects.toMatchObject(refused)
    await expect(snapshots.rollback(session, { to })).rejects.toMatchObject(refused)
    expect(await snapshots.rollback(session, { to, scope: 'conversation' })).toEqual({ turns: 4 })
    await agent.destroy()
  })

  test('CK21 a fork keeps the snapshots of its original from its first run on; one that has not run says that they went with it', async () => {
    const { agent, execution, snapshots, session, kept, seqBefore, read } = await desk([write('1', 'a', 'x'), 'Done.'])
    await agent.run({ prompt: 'Work.' })
    await agent.destroy()
    const idle = await session.fork()
    const first = await session.fork()
    const workIn = async (fork: Session, name: string): Promise<void> => {
      const other = createAgent({
        ...{ provider: scripted(write(name, name, 'y'), 'Done.'), session: fork, execution },
        ...{ tools: { write_file: writeFileTool }, extensions: [snapshots.extension] },
      })
      await other.run({ prompt: 'More.' })
      await other.destroy()
    }
    const forget = async (id: string): Promise<void> => {
      await snapshots.forget([id])
      const [folder] = readdirSync(kept)
      if (folder) execFileSync('git', ['prune', '--expire=now'], { cwd: join(kept, folder) }) // as a later snapshot does
    }
    await workIn(first, 'b')
    const early = await seqBefore('Work.')
    await forget('one')
    const second = await first.fork()
    await workIn(second, 'c')
    await forget(first.id)
    expect((await snapshots.planRollback(second, { to: early })).files?.delete.toSorted()).toEqual(['a', 'b', 'c'])
    await snapshots.rollback(second, { to: early })
    expect([read('a'), read('b'), read('c')]).toEqual([undefined, undefined, undefined])
    await forget(second.id)
    await expect(snapshots.planRollback(idle, { to: early })).rejects.toMatchObject({
      code: 'not_kept',
      message: expect.stringContaining(
        'or of a session that was deleted, as the original of a fork that had not run yet',
      ),
    })
  })

  test('CK08 empty folders, unreadable files and repositories inside: kept, or named and left alone', async () => {
    const { agent, snapshots, session, seqBefore, put, read, folder } = await desk([
      run('1', 'rmdir empty/er; rm -r full; mkdir made; echo x > inner/x'),
      'Done.',
    ])
    mkdirSync(join(folder, 'empty/er'), { recursive: true })
    put('empty/beside', 'b')
    put('full/f', 'f')
    put('inner/.git/HEAD', 'ref: refs/heads/main\n')
    mkdirSync(join(folder, 'inner/.git/objects'))
    mkdirSync(join(folder, 'inner/.git/refs'))
    put('inner/x', 'inner')
    await agent.run({ prompt: 'Work.' })
    await snapshots.rollback(session, { to: await seqBefore('Work.') })
    expect(existsSync(join(folder, 'empty/er'))).toBe(true)
    expect(existsSync(join(folder, 'made'))).toBe(false)
    expect([read('full/f'), read('inner/x')]).toEqual(['f', 'x\n'])
    rmSync(join(folder, 'full'), { recursive: true })
    await agent.destroy()
  })
})
