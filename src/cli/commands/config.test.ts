import { existsSync, lstatSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { type FakeIo, fakeIo } from '../../../test/cli/fake-io.ts'
import { trustByDigest } from '../../authority/trust/enter-project.ts'
import { projectDigest } from '../../authority/trust/project-items.ts'
import { createTrustList } from '../../authority/trust/trust-list.ts'
import { configKeys } from '../config/settings.ts'
import { libero } from '../libero.ts'

describe('libero config', () => {
  test('shows every setting and the file it comes from', async () => {
    const io = fakeIo()
    write(io, { model: 'mine', sandbox: 'required' })
    const { code, out, err } = await config(io)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out.split('\n').filter(Boolean)).toHaveLength(configKeys.length)
    expect(out).toMatch(new RegExp(`^model +mine {2}\\(${file(io)}\\)$`, 'm'))
    expect(out).toMatch(/^mode +ask {2}\(default\)$/m)
    expect(out).toMatch(/^maxCost +–$/m)
  })

  test('shows the same as JSON', async () => {
    const io = fakeIo()
    write(io, { maxTurns: 7 })
    const { settings, warnings } = JSON.parse((await config(io, '--json')).out)
    expect(warnings).toEqual([])
    expect(Object.keys(settings)).toEqual(configKeys)
    expect(settings).toMatchObject({
      maxTurns: { value: 7, from: file(io) },
      sandbox: { value: 'auto', from: 'default' },
      model: { value: null, from: 'not set' },
    })
  })

  test('names the file of a project that is not trusted, and does not read it', async () => {
    const io = fakeIo()
    mkdirSync(join(io.cwd, '.libero'))
    writeFileSync(join(io.cwd, '.libero/config.json'), 'not JSON')
    const { code, out, err } = await config(io)
    expect(code).toBe(0)
    expect(err).toMatch(/\.libero\/config\.json is not used: this project is not trusted/)
    expect(out).toMatch(/^sandbox +auto/m)
  })

  test('shows the stricter settings of a trusted project, and which of its settings were left out', async () => {
    const io = fakeIo({ cwd: fakeIo().cwd })
    write(io, { maxTurns: 9 })
    mkdirSync(join(io.cwd, '.libero'))
    writeFileSync(join(io.cwd, '.libero/config.json'), '{"maxTurns": 5, "provider": "evil", "allow": ["exec"]}')
    await trustByDigest(createTrustList({ folder: io.home }), io.cwd, await projectDigest(io.cwd))
    const { out, err } = await config(io)
    expect(out).toMatch(/^maxTurns +5 {2}\(.*\.libero\/config\.json\)$/m)
    expect(err).toMatch(/provider was left out: a project must not choose where your files and keys are sent/)
    expect(err).toMatch(/allow rule "exec" was left out/)
  })

  test('an invalid file means one message and exit code 2', async () => {
    const io = fakeIo()
    writeText(io, '{"modle": 1}')
    const { code, out, err } = await config(io)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toMatch(/config\.json has an unknown key "modle", did you mean/)
  })

  test('control characters in a file do not reach the terminal', async () => {
    const io = fakeIo()
    write(io, { system: 'a\u001b[2Jb\u202ec' })
    expect((await config(io)).out).toContain('a␛[2Jb\\u202ec')
  })
})

describe('libero config get', () => {
  test('prints only the value: a text literally, other values as JSON', async () => {
    const io = fakeIo()
    write(io, { model: 'mine', deny: ['net'], providers: { 'a.b': { baseURL: 'http://x.test', model: 'm' } } })
    expect(await config(io, 'get', 'model')).toMatchObject({ code: 0, out: 'mine\n' })
    expect(await config(io, 'get', 'deny')).toMatchObject({ code: 0, out: '["net"]\n' })
    expect(await config(io, 'get', 'mode')).toMatchObject({ code: 0, out: 'ask\n' })
    expect(await config(io, 'get', 'providers.a.b')).toMatchObject({ out: '{"baseURL":"http://x.test","model":"m"}\n' })
  })

  test('a setting that is not set is reported on stderr, with exit code 1', async () => {
    const { code, out, err } = await config(fakeIo(), 'get', 'maxCost')
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toContain('libero config set maxCost <value>')
  })

  test('an unknown name is a usage error that suggests the nearest one', async () => {
    const { code, err } = await config(fakeIo(), 'get', 'max-turns')
    expect(code).toBe(2)
    expect(err).toContain('there is no setting "max-turns", did you mean "maxTurns"')
  })
})

describe('libero config set', () => {
  test('creates a file and a folder that only their owner may read', async () => {
    const io = fakeIo()
    expect(await config(io, 'set', 'model', 'anthropic/claude')).toMatchObject({ code: 0, out: '' })
    expect(read(io)).toEqual({ model: 'anthropic/claude' })
    expect(statSync(file(io)).mode & 0o777).toBe(0o600)
    expect(statSync(io.home).mode & 0o777).toBe(0o700)
    expect(existsSync(`${file(io)}.lock`)).toBe(false)
  })

  test.each<[words: string[], value: object]>([
    [['sandbox', 'off'], { sandbox: 'off' }],
    [['audit', 'true'], { audit: true }],
    [['maxCost', '0.5'], { maxCost: 0.5 }],
    [['model', '4711'], { model: '4711' }],
    [['model', '"quoted"'], { model: 'quoted' }],
    [['thinking', 'off'], { thinking: 'off' }],
    [['deny', 'net', 'shell:git push'], { deny: ['net', 'shell:git push'] }],
    [['deny', 'net'], { deny: ['net'] }],
    [['deny', '["net"]'], { deny: ['net'] }],
    [['withoutTools', '[]'], { withoutTools: [] }],
    [['provider', 'openai'], { provider: 'openai' }],
    [
      ['providers.my.own', '{"baseURL": "http://127.0.0.1:1/v1", "model": "m"}'],
      { providers: { 'my.own': { baseURL: 'http://127.0.0.1:1/v1', model: 'm' } } },
    ],
  ])('accepts %j', async (words, value) => {
    const io = fakeIo()
    expect(await config(io, 'set', ...words)).toMatchObject({ code: 0 })
    expect(read(io)).toEqual(value)
  })

  test.each<[words: string[], says: RegExp]>([
    [['modle', 'x'], /there is no setting "modle", did you mean/],
    [['model'], /model needs a value: libero config set model <value>/],
    [[], /name a setting: provider, model, /],
    [['model', 'a', 'b'], /model takes one value, got 2 words; put it in quotes/],
    [['maxTurns', 'ten'], /maxTurns cannot be "ten"; write a whole number of at least 1/],
    [['sandbox', 'yes'], /sandbox cannot be "yes"; write "auto" or "required" or "off"/],
    [['audit', 'yes'], /audit cannot be "yes"; write true or false/],
    [['mode', 'yollo'], /mode cannot be "yollo", did you mean "yolo"/],
    [['deny', ''], /deny/],
    [['deny', 'shell:['.repeat(2000)], /deny/],
    [['provider', 'opnai'], /there is no provider "opnai", did you mean openai/],
    [['providers.my', '{"baseURL": "http://x"}'], /providers\.my has no model/],
  ])('refuses %j, and changes nothing', async (words, says) => {
    const io = fakeIo()
    write(io, { maxCost: 1 })
    const { code, out, err } = await config(io, 'set', ...words)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toMatch(says)
    expect(read(io)).toEqual({ maxCost: 1 })
  })

  test('keeps the other settings, $schema and a link to the file', async () => {
    const io = fakeIo()
    mkdirSync(io.home, { recursive: true })
    const real = join(io.userHome, 'dotfiles.json')
    writeFileSync(real, '{"$schema": "x", "model": "m"}')
    symlinkSync(real, file(io))
    await config(io, 'set', 'maxTurns', '5')
    expect(JSON.parse(readFileSync(real, 'utf8'))).toEqual({ $schema: 'x', model: 'm', maxTurns: 5 })
    expect(lstatSync(file(io)).isSymbolicLink()).toBe(true)
  })

  test('two concurrent changes are both kept', async () => {
    const io = fakeIo()
    await Promise.all([config(io, 'set', 'maxTurns', '5'), config(io, 'set', 'maxCost', '2')])
    expect(read(io)).toEqual({ maxTurns: 5, maxCost: 2 })
  })

  test('a folder that cannot be created means one message and exit code 1', async () => {
    const io = fakeIo()
    writeFileSync(io.home, 'a file')
    const { code, err } = await config(io, 'set', 'maxTurns', '5')
    expect(code).toBe(1)
    expect(err).toMatch(/^libero: The setting was not changed: .*\n$/)
  })
})

describe('libero config unset', () => {
  test('removes a setting', async () => {
    const io = fakeIo()
    write(io, { model: 'm', maxTurns: 5 })
    expect(await config(io, 'unset', 'maxTurns')).toMatchObject({ code: 0 })
    expect(read(io)).toEqual({ model: 'm' })
  })

  test('removes an unknown key from a file, and one provider of several', async () => {
    const io = fakeIo()
    write(io, {
      modle: 'm',
      providers: { a: { baseURL: 'http://x', model: 'm' }, b: { baseURL: 'http://x', model: 'm' } },
    })
    expect(await config(io, 'unset', 'modle')).toMatchObject({ code: 0 })
    expect(await config(io, 'unset', 'providers.a')).toMatchObject({ code: 0 })
    expect(read(io)).toEqual({ providers: { b: { baseURL: 'http://x', model: 'm' } } })
  })

  test('does not create a file if the setting was not set', async () => {
    const io = fakeIo()
    const { code, err } = await config(io, 'unset', 'model')
    expect({ code, err }).toEqual({ code: 0, err: 'model was not set\n' })
    expect(existsSync(file(io))).toBe(false)
  })
})

test('libero config path prints the path of the user’s file, whether it exists or not', async () => {
  const io = fakeIo()
  expect(await config(io, 'path')).toMatchObject({ code: 0, out: `${file(io)}\n` })
})

const file = (io: FakeIo): string => join(io.home, 'config.json')
const read = (io: FakeIo): unknown => JSON.parse(readFileSync(file(io), 'utf8'))
const write = (io: FakeIo, value: object): void => writeText(io, JSON.stringify(value))

function writeText(io: FakeIo, text: string): void {
  mkdirSync(io.home, { recursive: true })
  writeFileSync(file(io), text)
}

/** What it said since the last time. */
async function config(io: FakeIo, ...args: string[]): Promise<{ code: number; out: string; err: string }> {
  Object.assign(io.said, { out: '', err: '' })
  const code = await libero(['config', ...args], io)
  await setImmediate()
  return { code, ...io.said }
}
