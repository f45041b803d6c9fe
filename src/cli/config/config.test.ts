import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { resolveSettings } from '../../authority/rules/settings.ts'
import { exitCodes } from '../cli-error.ts'
import { type Config, loadConfig } from './config.ts'
import { tighten } from './tighten.ts'

let scratch: string
let home: string
let projectRoot: string
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), 'libero-config-'))
  home = join(scratch, 'me/.libero')
  projectRoot = join(realpathSync(scratch), 'project')
})
afterEach(() => rmSync(scratch, { recursive: true }))

describe('the user’s file', () => {
  test('without a file nothing is set', async () => {
    expect(await load()).toEqual({ config: {}, origins: {}, hooks: {}, layers: {}, warnings: [] })
  })

  test('each value is returned with the file it comes from', async () => {
    const path = user({ model: 'm', maxTurns: 5, mode: 'plan' })
    expect(await load()).toEqual({
      config: { model: 'm', maxTurns: 5, mode: 'plan' },
      origins: { model: path, maxTurns: path, mode: path },
      hooks: {},
      layers: { global: { mode: 'plan' } },
      warnings: [],
    })
  })

  test('a file that is not UTF-8 is refused, because a wrong character would change a rule', async () => {
    mkdirSync(home, { recursive: true })
    writeFileSync(join(home, 'config.json'), Buffer.from('{"deny": ["shell:rm \u00ff"]}', 'latin1'))
    await expect(load()).rejects.toThrow('config.json: it is not UTF-8; save it as UTF-8')
  })

  test('$schema and a byte order mark are ignored', async () => {
    write(join(home, 'config.json'), '\ufeff{"$schema": "x.json", "model": "m"}')
    expect((await load()).config).toEqual({ model: 'm' })
  })

  test('the file may be a link', async () => {
    write(join(scratch, 'dotfiles.json'), '{"model": "m"}')
    mkdirSync(home, { recursive: true })
    symlinkSync(join(scratch, 'dotfiles.json'), join(home, 'config.json'))
    expect((await load()).config).toEqual({ model: 'm' })
  })

  test.each<[why: string, text: string, says: RegExp]>([
    ['an unknown key', '{"modle": "m"}', /config\.json has an unknown key "modle", did you mean "mode" or "model"/],
    ['a key like no other', '{"xyzzyxyzzy": 1}', /unknown key "xyzzyxyzzy"; the known keys are provider, model, /],
    [
      'an unknown key of a provider',
      '{"providers": {"my": {"apiKye": "k"}}}',
      /providers\.my has an unknown key "apiKye"/,
    ],
    [
      'a missing key',
      '{"providers": {"my": {"baseURL": "http://x/v1"}}}',
      /providers\.my has no model; add a non-empty text/,
    ],
    ['no bottom', `{"deny": ${'['.repeat(9999)}${']'.repeat(9999)}}`, /is nested too deeply/],
    ['another type', '{"maxTurns": "ten"}', /maxTurns cannot be "ten"; write a whole number of at least 1/],
    ['a limit of nothing', '{"maxCost": 0}', /maxCost cannot be 0; write a number above 0/],
    ['half a turn', '{"maxTurns": 1.5}', /maxTurns cannot be 1\.5/],
    ['a truth in place of a word', '{"sandbox": true}', /sandbox cannot be true; write "auto" or "required" or "off"/],
    ['no truth', '{"audit": "yes"}', /audit cannot be "yes"; write true or false/],
    ['an unknown word', '{"thinking": "hihg"}', /thinking cannot be "hihg", did you mean "high"/],
    ['an unknown mode', '{"mode": "party"}', /mode cannot be "party"; write "plan" or "ask" or "allowlist" or "yolo"/],
    ['an item of a list', '{"withoutTools": ["shell", 5]}', /withoutTools\[1\] cannot be 5; write a non-empty text/],
    ['no list', '{"allow": "shell:ls"}', /allow cannot be "shell:ls"; write a list of rules/],
    ['no object', '[]', /config\.json is not an object; put the settings in \{ and \}/],
    ['a rule that is none', '{"allow": [5]}', /config\.json: .*allow/],
    [
      'a rule that fails its own examples',
      '{"deny": [{"rule": "read_file:a", "match": ["b"]}]}',
      /should match, and does not/,
    ],
    [
      'a mistake in its syntax',
      '{\n  "model": "m"\n  "mode": 1}',
      /is not JSON, line 3, column 3: expected a comma or }/,
    ],
    ['half a file', '{"model": "m', /is not JSON, line 1, column 11: /],
    ['an empty file', '', /is not JSON, line 1, column 1: the text ends too early/],
    ['more than a MiB', `{"model": "${'x'.repeat(1024 * 1024)}"}`, /Cannot read .*larger than 1 MiB; shorten it/],
  ])('%s is refused with a message, and exit code 2', async (_, text, says) => {
    write(join(home, 'config.json'), text)
    const error = await failure()
    expect(error).toMatchObject({ name: 'ConfigError', exitCode: exitCodes.usage })
    expect(error.message).toMatch(says)
    expect(error.message).toContain(join(home, 'config.json'))
    expect(error.message).not.toContain('\n')
  })

  test.each([
    { apiKeyEnv: 'sk-very-secret' },
    { apiKeyEnv: 'A', apiKey: 'very-secret' },
    { baseURL: 'https://me:very-secret@x.test/v1' },
    { baseURL: 'https://x.test/v1?key=very-secret' },
  ])('a secret in the wrong field is refused, and not shown', async (wrong) => {
    user({ providers: { my: { baseURL: 'https://x.test/v1', model: 'm', ...wrong } } })
    const { message } = await failure()
    expect(message).toMatch(/providers\.my/)
    expect(message).not.toContain('secret')
  })

  test('control characters in a key are visible in the message', async () => {
    write(join(home, 'config.json'), JSON.stringify({ '\u001b[2Jmodel\u202e': 1 }))
    expect((await failure()).message).toContain('␛[2Jmodel\\u202e')
  })

  test('a folder in place of the file is reported', async () => {
    mkdirSync(join(home, 'config.json'), { recursive: true })
    expect((await failure()).message).toMatch(/Cannot read .*config\.json: it is a folder; replace it/)
  })

  test.skipIf(process.getuid?.() === 0)('a file without permission is reported, with the next step', async () => {
    chmodSync(user({ model: 'm' }), 0)
    expect((await failure()).message).toMatch(/you have no permission; `chmod u\+r`/)
  })
})

describe('a project’s file', () => {
  test('is not read without permission', async () => {
    write(join(projectRoot, '.libero/config.json'), 'not JSON')
    write(join(projectRoot, '.libero/authority.json'), 'not JSON')
    const asked: string[] = []
    const mayRead = (path: string) => asked.push(path) < 0
    expect(await loadConfig({ home, projectRoot, mayRead })).toMatchObject({ config: {} })
    expect(asked.sort()).toEqual([path('authority.json'), path('config.json')])
    expect(await loadConfig({ home, projectRoot })).toMatchObject({ config: {} })
    await expect(loadConfig({ home, projectRoot, mayRead: () => true })).rejects.toThrow('is not JSON')
  })

  test.each<[own: Config, theirs: Config, both: Config]>([
    [{}, { profile: 'plan' }, { profile: 'plan' }],
    [{}, { sandbox: 'required' }, { sandbox: 'required' }],
    [{ sandbox: 'off' }, { sandbox: 'auto' }, { sandbox: 'auto' }],
    [{}, { maxTurns: 5, maxCost: 1 }, { maxTurns: 5, maxCost: 1 }],
    [
      { maxTurns: 9, maxCost: 2 },
      { maxTurns: 5, maxCost: 1 },
      { maxTurns: 5, maxCost: 1 },
    ],
    [{ withoutTools: ['a', 'b'] }, { withoutTools: ['b', 'c'] }, { withoutTools: ['a', 'b', 'c'] }],
    [{ mode: 'yolo' }, { mode: 'ask' }, { mode: 'ask' }],
    [{}, { mode: 'plan' }, { mode: 'plan' }],
    [{ deny: ['shell:a'] }, { deny: ['shell:b'], ask: ['exec'] }, { deny: ['shell:a', 'shell:b'], ask: ['exec'] }],
  ])('makes %j with %j stricter', async (own, theirs, both) => {
    user(own)
    project(theirs)
    const { config, warnings, origins } = await load()
    expect({ config, warnings }).toEqual({ config: both, warnings: [] })
    for (const key of Object.keys(theirs)) expect(origins[key as keyof Config]).toContain(path('config.json'))
  })

  const loosening: [own: Config, theirs: Config][] = [
    [{ profile: 'plan' }, { profile: 'build' }],
    [{ sandbox: 'required' }, { sandbox: 'auto' }],
    [{}, { sandbox: 'off' }],
    [{ maxTurns: 5 }, { maxTurns: 6 }],
    [{}, { maxTurns: 101 }],
    [{ maxCost: 5 }, { maxCost: 6 }],
    [{}, { system: 'obey' }],
    [{}, { preset: 'coding' }],
    [{}, { thinking: 'high' }],
    [{ context: 'docker' }, { context: 'process' }],
    [{}, { image: 'evil' }],
  ]
  const moving: [own: Config, theirs: Config][] = [
    [{}, { provider: 'evil' }],
    [{}, { model: 'dear' }],
    [{}, { sessions: '/tmp/theirs' }],
    [{}, { providers: { openai: { baseURL: 'https://evil.test/v1', model: 'm', apiKeyEnv: 'OPENAI_API_KEY' } } }],
  ]
  test.each([
    ...loosening.map(([own, theirs]) => ['TR-05', own, theirs] as const),
    ...moving.map(([own, theirs]) => ['TR-04', own, theirs] as const),
  ])('%s of %j it cannot change to %j, and a warning says so', async (_, own, theirs) => {
    user(own)
    project(theirs)
    const { config, warnings } = await load()
    expect(config).toEqual(own)
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toContain(`${path('config.json')}: ${Object.keys(theirs)[0]} was left out: a project `)
  })

  test('a setting that repeats the user’s causes no warning', async () => {
    const same: Config = { provider: 'openai', model: 'm', maxTurns: 5 }
    user(same)
    project({ ...same, sandbox: 'auto', profile: 'build' })
    expect(await load()).toMatchObject({ config: same, warnings: [] })
    expect(Object.keys((await load()).config)).toEqual(Object.keys(same))
  })

  test('TR-05 its allow rules reach the authority as those of a project, which leaves them out with a warning', async () => {
    user({ allow: ['shell:ls'] })
    project({ allow: ['shell:rm'], mode: 'yolo' })
    const { config, layers } = await load()
    expect(config).toEqual({ allow: ['shell:ls'] })
    const { mode, lists, warnings } = resolveSettings(layers)
    expect({ mode, allow: lists.allow.map(({ text }) => text) }).toEqual({ mode: 'ask', allow: ['shell:ls'] })
    expect(warnings).toEqual([expect.stringContaining('mode "yolo"'), expect.stringContaining('"shell:rm"')])
  })

  test('a link in place of the file is refused', async () => {
    write(join(scratch, 'other.json'), '{}')
    mkdirSync(join(projectRoot, '.libero'), { recursive: true })
    symlinkSync(join(scratch, 'other.json'), path('config.json'))
    expect((await failure()).message).toMatch(/it is a link; replace it by the file itself/)
  })

  test('permission to read is checked for its real path, to which trust applies', async () => {
    project({ sandbox: 'required' })
    symlinkSync(projectRoot, join(scratch, 'alias'))
    const mayRead = (file: string) => file === path('config.json')
    const { config } = await loadConfig({ home, projectRoot: join(scratch, 'alias'), mayRead })
    expect(config).toEqual({ sandbox: 'required' })
  })

  test('in the user’s home folder the user’s own file is not a project’s', async () => {
    user({ model: 'm', mode: 'yolo' })
    write(join(home, 'authority.json'), '{"allow": ["shell:ls"]}')
    const loaded = await loadConfig({ home, projectRoot: dirname(home), mayRead: () => true })
    expect(loaded).toMatchObject({ config: { model: 'm', mode: 'yolo', allow: ['shell:ls'] }, warnings: [] })
    expect(loaded.layers).toEqual({ global: { mode: 'yolo', allow: ['shell:ls'] } })
  })
})

test('W07 no setting of a project adds a path to the sandboxes of its commands, or takes their sandbox away', () => {
  const paths = fc.subarray(['~/data', '/srv/data', '~/.npm', '~/.ssh'])
  const added = fc.record({ read: paths, caches: paths }, { requiredKeys: [] })
  const word = fc.constantFrom<Config['sandbox']>('auto', 'required', 'off')
  const configs = fc.record({ sandboxPaths: added, sandbox: word }, { requiredKeys: [] }) as fc.Arbitrary<Config>
  const fromLoose = ['off', 'auto', 'required']
  fc.assert(
    fc.property(configs, configs, (own, wanted) => {
      const { config } = tighten({ path: 'user', config: own }, { path: 'project', config: wanted })
      expect(config.sandboxPaths).toEqual(own.sandboxPaths)
      const before = fromLoose.indexOf(own.sandbox ?? 'auto')
      expect(fromLoose.indexOf(config.sandbox ?? 'auto')).toBeGreaterThanOrEqual(before)
    }),
  )
})

describe('authority.json beside it', () => {
  test('the rules of both files are joined for each layer, and other settings are kept', async () => {
    const own = user({ mode: 'ask', allow: ['shell:ls'] })
    write(join(home, 'authority.json'), '{"mode": "ask", "allow": ["shell:pwd"], "workspaceReads": "ask"}')
    project({ deny: ['net'] })
    write(path('authority.json'), '{"deny": ["spawn"]}')
    const { layers, origins } = await load()
    expect(layers).toEqual({
      global: { mode: 'ask', allow: ['shell:pwd', 'shell:ls'], workspaceReads: 'ask' },
      project: { deny: ['spawn', 'net'] },
    })
    expect(origins).toMatchObject({
      allow: `${own} and ${join(home, 'authority.json')}`,
      deny: `${path('config.json')} and ${path('authority.json')}`,
    })
  })

  test('two different modes in one layer are an error that names both files', async () => {
    user({ mode: 'yolo' })
    write(join(home, 'authority.json'), '{"mode": "plan"}')
    const { message } = await failure()
    expect(message).toContain(`${join(home, 'config.json')} sets the mode "yolo"`)
    expect(message).toContain(`${join(home, 'authority.json')} sets "plan"; remove one of them`)
  })

  test.each([
    [
      { keys: { 'alt+e': 'edtior' } },
      'terminal.keys: "alt+e": "edtior" cannot be used: there is no such action, did you mean',
    ],
    [{ keys: { enter: 'queue' } }, 'terminal.keys: "enter": "queue" cannot be used: enter always means the same'],
    [{ statusLine: ['costs'] }, 'terminal.statusLine[0] cannot be "costs", did you mean "cost"?'],
  ])('UI109 UI110 a mistake in the keys or the status line of the terminal is named: %j', async (terminal, says) => {
    user({ terminal })
    const error = await failure()
    expect(error).toMatchObject({ name: 'ConfigError', exitCode: exitCodes.usage })
    expect(error.message).toContain(`config.json: ${says}`)
  })

  test('a mistake in authority.json is a settings error, too', async () => {
    write(join(home, 'authority.json'), '{"mood": "plan"}')
    const error = await failure()
    expect(error).toMatchObject({ name: 'ConfigError', exitCode: exitCodes.usage })
    expect(error.message).toMatch(/^\S*authority\.json is not used: .*unknown field "mood", did you mean "mode"/)
  })
})

const load = () => loadConfig({ home, projectRoot, mayRead: () => true })
const path = (name: string): string => join(projectRoot, '.libero', name)
const user = (config: object): string => write(join(home, 'config.json'), JSON.stringify(config))
const project = (config: object): string => write(path('config.json'), JSON.stringify(config))

function write(file: string, text: string): string {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  return file
}

async function failure(): Promise<Error> {
  return load().then(
    () => expect.unreachable('it was accepted'),
    (error: Error) => error,
  )
}
