import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { onFailpoint } from '../../src/core/log.ts'
import { gate, type MockService, startMockService } from '../rpc/mock-service.ts'
import { openDesk } from './cli-kit.ts'

let service: MockService
beforeAll(async () => {
  service = await startMockService()
})
afterAll(() => service.close())

describe('CK10 at the command line', () => {
  test('CK02 CK10 a person goes back with libero sessions rewind, rollback and libero undo; each shows its plan and asks, or takes --yes', async () => {
    const desk = openDesk(service.url, undefined, { snapshots: true })
    const read = (name: string) =>
      existsSync(join(desk.cwd, name)) ? readFileSync(join(desk.cwd, name), 'utf8') : null
    const lines = async (...args: string[]) => {
      const { code, out, err } = await desk.libero(args)
      expect([args, code, err]).toEqual([args, 0, err])
      return `${out}${err}`
    }
    desk.write('plan.txt', 'sow\n')
    service.play([{ call: 'shell', args: { command: 'echo dig > plan.txt; echo two > beds.txt' } }], [{ say: 'Dug.' }])
    expect((await desk.libero(['Dig', '--yolo'])).code).toBe(0)
    service.play([{ call: 'shell', args: { command: 'echo water > plan.txt' } }], [{ say: 'Watered.' }])
    expect((await desk.libero(['Water', '--continue', '--yolo'])).code).toBe(0)
    const { sessions } = JSON.parse((await desk.libero(['sessions', 'list', '--json'])).out)
    const [{ id }] = sessions
    writeFileSync(join(desk.cwd, 'beds.txt'), 'mine\n')

    expect(await lines('sessions', 'rewind', id, '--list')).toMatch(/^1 .* Dig\n2 .* Water\n$/)
    expect(await lines('sessions', 'rewind', id, '1', '--dry-run')).toBe(
      `Session ${id}, back to before message 1, “Dig”:\n  8 turns leave the conversation\n  restore  plan.txt\n  keep     beds.txt: it was changed since\n  Add --force to restore these files too; libero undo brings them back\n`,
    )
    const refused = await desk.libero(['undo'])
    expect([refused.code, refused.err]).toEqual([
      2,
      expect.stringContaining('there is no terminal to ask on; add --yes'),
    ])
    expect(read('plan.txt')).toBe('water\n')

    expect(await lines('undo', '--yes')).toContain(
      `4 turns left the conversation\nrestored  plan.txt\nTo take this back: libero undo ${id}\n`,
    )
    expect(read('plan.txt')).toBe('dig\n')
    expect(await lines('undo', '--yes')).toContain('4 turns came back\nrestored  plan.txt\n')
    expect(read('plan.txt')).toBe('water\n')
    // What came back can be gone back to, as the first time.
    expect(await lines('sessions', 'rewind', id, '--list')).toMatch(/^1 .* Dig\n2 .* Water\n$/)
    expect(await lines('sessions', 'rewind', id, '2', '--dry-run')).toContain('  restore  plan.txt\n')
    expect(await lines('undo', '--dry-run')).toMatch(
      /, without the undo of the rollback of .*:\n {2}restore {2}plan.txt\n$/,
    )
    expect(JSON.parse((await desk.libero(['undo', '--dry-run', '--json'])).out)).toEqual({
      ...{ session: id, undoes: 'the undo of the rollback' },
      files: { restore: ['plan.txt'], delete: [], conflicts: [] },
    })
    const rolledBack = JSON.parse(
      (await desk.libero(['sessions', 'rollback', id, '1', '--force', '--yes', '--json'])).out,
    )
    expect(rolledBack).toEqual({
      session: id,
      turns: 0,
      files: { restored: ['plan.txt'], deleted: ['beds.txt'], conflicts: [], failed: [] },
    })
    expect([read('plan.txt'), read('beds.txt')]).toEqual(['sow\n', null])
    await lines('undo', id, '--yes')
    expect([read('plan.txt'), read('beds.txt')]).toEqual(['water\n', 'mine\n'])

    const wrong = await desk.libero(['sessions', 'rewind', id, '7', '--yes'])
    expect([wrong.code, wrong.err]).toEqual([1, expect.stringContaining('has no message 7; libero sessions rewind')])
    await lines('sessions', 'delete', id, '--yes')
    expect(existsSync(join(desk.home, 'snapshots'))).toBe(true)
    expect(readdirSync(join(desk.home, 'snapshots'))).toEqual([])
  }, 120_000)

  test('CK17 a setting turns snapshots off; the conversation goes back alone, and it is said why', async () => {
    const desk = openDesk(service.url, undefined, { snapshots: true })
    await desk.libero(['config', 'set', 'snapshots.enabled', 'false'])
    service.play([{ call: 'shell', args: { command: 'echo dig > plan.txt' } }], [{ say: 'Dug.' }])
    expect((await desk.libero(['Dig', '--yolo'])).code).toBe(0)
    const { code, err } = await desk.libero(['undo', '--yes'])
    expect([code, err]).toEqual([0, expect.stringContaining('Files stay as they are: no snapshot of them was taken')])
    expect(err).toContain('4 turns left the conversation')
    expect(readFileSync(join(desk.cwd, 'plan.txt'), 'utf8')).toBe('dig\n')
    expect(existsSync(join(desk.home, 'snapshots'))).toBe(false)
  }, 60_000)

  test('CK14 an undo that was cut off is told to a new session in the folder, and libero undo takes it back', async () => {
    const desk = openDesk(service.url, undefined, { snapshots: true })
    desk.write('plan.txt', 'sow\n')
    service.play([{ call: 'shell', args: { command: 'echo dig > plan.txt' } }], [{ say: 'Dug.' }], [{ say: 'Hello.' }])
    expect((await desk.libero(['Dig', '--yolo'])).code).toBe(0)
    const { sessions } = JSON.parse((await desk.libero(['sessions', 'list', '--json'])).out)
    const [{ id }] = sessions
    onFailpoint((name) => {
      if (name === 'rollback.logged') throw new Error('power cut')
    })
    expect((await desk.libero(['undo', '--yes'])).err).toContain('power cut')
    onFailpoint(undefined)
    expect((await desk.libero(['Hello'])).err).toContain(`A rollback of session ${id} was interrupted here`)
    const { err } = await desk.libero(['undo', id, '--yes'])
    expect(err).toContain(
      '  It was interrupted: it is finished first, and then undone\nAn interrupted rollback was finished',
    )
    expect(readFileSync(join(desk.cwd, 'plan.txt'), 'utf8')).toBe('dig\n')
    expect((await desk.libero(['sessions', 'rewind', id, '--list'])).out).toMatch(/^1 .* Dig\n$/)
  }, 60_000)

  test('CK10 a file that another program writes during a rollback is named, and the exit code is 1', async () => {
    const desk = openDesk(service.url, undefined, { snapshots: true })
    desk.write('plan.txt', 'sow\n')
    service.play([{ call: 'shell', args: { command: 'echo dig > plan.txt' } }], [{ say: 'Dug.' }])
    expect((await desk.libero(['Dig', '--yolo'])).code).toBe(0)
    onFailpoint((name) => {
      if (name === 'rollback.logged') desk.write('plan.txt', 'another program\n')
    })
    const { code, err } = await desk.libero(['undo', '--yes'])
    onFailpoint(undefined)
    expect([code, err]).toEqual([1, expect.stringContaining('failed    plan.txt: it could not be restored')])
  }, 60_000)

  test('CK10 a note of the program is no message to go back to, and where no snapshot can be taken it is said why', async () => {
    const desk = openDesk(service.url, undefined, { snapshots: true })
    await desk.libero(['config', 'set', 'snapshots.maxFiles', '1'])
    for (const name of ['a', 'b']) desk.write(name, name)
    const isHalf = gate()
    service.play([{ say: 'I begin' }, { hang: isHalf }], [{ say: 'Dug.' }])
    const { child, ended, until } = desk.start(['Dig', '--yolo', '--json'])
    await until('I begin')
    child.kill('SIGINT')
    await ended
    const { sessions } = JSON.parse((await desk.libero(['sessions', 'list', '--json'])).out)
    const [{ id }] = sessions
    expect((await desk.libero(['sessions', 'resume', id])).code).toBe(0)
    expect(JSON.stringify(service.requests.at(-1))).toContain('Your last reply was interrupted')
    expect((await desk.libero(['sessions', 'rewind', id, '--list'])).out).toMatch(/^1 .* Dig\n$/)
    const { code, err } = await desk.libero(['undo', '--yes'])
    expect([code, err]).toEqual([0, expect.stringMatching(/back to before message 1, “Dig”:/)])
    expect(err).toMatch(/Files stay as they are: the folder has 2 files .*, more than maxFiles \(1\)/)
  }, 60_000)
})
