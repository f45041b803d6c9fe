import { mkdtempSync, writeFileSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { createProcessContext, type ProcessContextOptions } from './process.ts'

const folder = mkdtempSync(join(tmpdir(), 'libero-process-options-'))
afterAll(() => rm(folder, { recursive: true, force: true }))

const bad: Record<string, [options: unknown, says: RegExp]> = {
  'an unknown option': [{ environment: {} }, /unknown option "environment"; there are cwd, env/],
  'an unknown limit': [{ limits: { cpu: 1 } }, /unknown limit "cpu"; there are processes/],
  'a limit that is no whole number': [{ limits: { memoryMb: 0.5 } }, /limits\.memoryMb must be a whole number above 0/],
  'a limit of nothing': [{ limits: { processes: 0 } }, /limits\.processes must be/],
  'a limit that is a text': [{ limits: { fileSizeMb: '1; reboot' } }, /limits\.fileSizeMb must be/],
  'a cwd that is no path': [{ cwd: '' }, /cwd must be the path of a folder/],
  'a relative root': [{ roots: ['src'] }, /roots must be a list of absolute paths, or 'any'/],
  'a root that is no list': [{ roots: 'all' }, /roots must be/],
  'names that are no list': [{ inheritEnv: 'HOME' }, /inheritEnv must be a list of names/],
  'a variable that is no text': [{ env: { A: 1 } }, /env\.A must be a string/],
  'a variable with a NUL': [{ env: { A: 'secret\0' } }, /"A" cannot be set/],
  'a variable without a name': [{ env: { '': 'x' } }, /cannot be set/],
  'an added path that is relative': [{ sandboxPaths: { read: ['data'] } }, /sandboxPaths\.read must be a list of abs/],
  'an added path of no kind': [{ sandboxPaths: { write: ['/x'] } }, /unknown field of sandboxPaths "write"; there are/],
  'options that are none': ['/tmp', /options must be an object/],
}
test.each(Object.entries(bad))('%s is refused', (_, [options, says]) => {
  const make = (): unknown => createProcessContext(options as ProcessContextOptions)
  expect(make).toThrow(TypeError)
  expect(make).toThrow(says)
})

test('no value of a variable is shown when it is refused', async () => {
  expect(() => createProcessContext({ env: { A: 'hunter2\0' } })).toThrow(/^(?!.*hunter2)/s)
  const context = createProcessContext({ cwd: folder })
  await expect(context.spawn({ env: { 'A=': 'x' } })).rejects.toThrow(TypeError)
  await expect(context.exec(await context.spawn(), 'true', { env: { A: 'x\0' } })).rejects.toThrow(TypeError)
})

test('SB10 on Windows there is no sandbox, with the reason, and required fails', async () => {
  vi.stubGlobal('process', Object.create(process, { platform: { value: 'win32' } }))
  try {
    const context = createProcessContext({ cwd: folder })
    const why = 'Windows has no sandbox for commands; use WSL or Docker'
    expect(await context.sandbox?.(await context.spawn())).toEqual({ profiles: [], why })
    await expect(createProcessContext({ cwd: folder, sandbox: 'required' }).spawn()).rejects.toThrow(why)
  } finally {
    vi.unstubAllGlobals()
  }
})

test('it says what it can do', () => {
  const { type, capabilities } = createProcessContext()
  const expected = { shell: true, filesystem: true, network: true, gpu: false, hostPrograms: true }
  expect({ type, capabilities }).toEqual({ type: 'process', capabilities: expected })
})

test('files outside the cwd of the handle are out of reach, unless the roots say otherwise', async () => {
  await mkdir(join(folder, 'inner'), { recursive: true })
  writeFileSync(join(folder, 'outer.txt'), 'outer')
  const read = async (options: ProcessContextOptions) => {
    const context = createProcessContext({ cwd: join(folder, 'inner'), ...options })
    return context.readFile(await context.spawn(), '../outer.txt')
  }
  await expect(read({})).rejects.toMatchObject({ code: 'EOUTSIDE' })
  expect(await read({ roots: 'any' })).toBe('outer')
  expect(await read({ roots: [folder] })).toBe('outer')
})

test('a relative cwd of a handle is taken from that of the context', async () => {
  await mkdir(join(folder, 'sub'), { recursive: true })
  expect((await createProcessContext({ cwd: folder }).spawn({ cwd: 'sub' })).cwd).toBe(join(folder, 'sub'))
})
