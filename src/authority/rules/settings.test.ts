import { describe, expect, test } from 'vitest'
import { CodedError } from '../../core/errors.ts'
import { resolveSettings, type SecurityMode, type SettingsLayers } from './settings.ts'

type Modes = Partial<Record<keyof SettingsLayers, SecurityMode>>
const layersOf = (modes: Modes): SettingsLayers =>
  Object.fromEntries(Object.entries(modes).map(([layer, mode]) => [layer, { mode }]))

function failure(layers: unknown): CodedError {
  try {
    resolveSettings(layers as SettingsLayers)
  } catch (error) {
    if (error instanceof CodedError) return error
    throw error
  }
  throw new Error('resolved')
}

describe('B024 the mode is the launch’s, the project’s, the user’s, the package’s, or ask', () => {
  test.each<[Modes, SecurityMode]>([
    [{}, 'ask'],
    [{ bundled: 'allowlist' }, 'allowlist'],
    [{ bundled: 'allowlist', global: 'yolo' }, 'yolo'],
    [{ bundled: 'yolo', global: 'ask' }, 'ask'],
    [{ global: 'yolo', project: 'ask' }, 'ask'],
    [{ global: 'yolo', project: 'allowlist' }, 'allowlist'],
    [{ project: 'plan' }, 'plan'],
    [{ global: 'ask', project: 'plan', launch: 'yolo' }, 'yolo'],
    [{ global: 'yolo', launch: 'plan' }, 'plan'],
  ])('%o is %s', (modes, mode) => {
    expect(resolveSettings(layersOf(modes)).mode).toBe(mode)
  })

  test('it is frozen, and so is everything with it', () => {
    const settings = resolveSettings({ launch: { mode: 'ask', deny: ['net'], tools: { shell: { mode: 'confirm' } } } })
    expect(() => Object.assign(settings, { mode: 'yolo' })).toThrow(TypeError)
    expect(() => Object.assign(settings.tools, { shell: { mode: 'auto' } })).toThrow(TypeError)
    expect(() => Object.assign(settings.rules.tools.shell!, { mode: 'auto' })).toThrow(TypeError)
    expect(() => Object.assign(settings.rules, { matchDeny: () => undefined })).toThrow(TypeError)
    expect(() => (settings.lists.deny as unknown[]).pop()).toThrow(TypeError)
  })

  test('lists of several layers are one, sorted, each entry once', () => {
    const { lists } = resolveSettings({
      bundled: { allowlist: ['shell:ls', 'shell:cat'] },
      global: { mode: 'allowlist', allowlist: ['shell:ls', 'read_file'], deny: ['net'] },
      project: { deny: ['exec', 'net'] },
      launch: { allowlist: ['fs.read'] },
    })
    expect(lists.allowlist.map(({ text }) => text)).toEqual(['fs.read', 'read_file', 'shell:cat', 'shell:ls'])
    expect(lists.deny.map(({ text }) => text)).toEqual(['exec', 'net'])
  })
})

describe('B025 allowlist entries', () => {
  test('are an error if no layer chose the mode', () => {
    expect(failure({ global: { allowlist: ['shell:ls'] } }).code).toBe('AllowlistWithoutMode')
    expect(failure({ global: { mode: 'yolo', allowlist: ['shell:ls'] } }).code).toBe('AllowlistWithoutMode')
    expect(failure({ launch: { mode: 'ask', allowlist: ['shell:ls'] } }).code).toBe('AllowlistWithoutMode')
  })

  test('are ignored where a launch chose another mode than the one they were written for', () => {
    const layers: SettingsLayers = { global: { mode: 'allowlist', allowlist: ['shell:ls'] }, launch: { mode: 'ask' } }
    expect(resolveSettings(layers).mode).toBe('ask')
  })
})

describe('TR-05 a project can only make things stricter', () => {
  test.each<[string, NonNullable<SettingsLayers['project']>, RegExp]>([
    ['a looser mode', { mode: 'yolo' }, /mode "yolo"/],
    ['allow rules', { allow: ['shell'] }, /allow rule "shell"/],
    ['an allowlist', { mode: 'ask', allowlist: ['shell:ls'] }, /allowlist rule "shell:ls"/],
    ['quiet reads', { workspaceReads: 'allow' }, /workspaceReads "allow"/],
    ['a tool without questions', { tools: { shell: { mode: 'auto' } } }, /tools\.shell\.mode "auto"/],
    ['patterns that allow', { tools: { shell: { allowPatterns: ['.'] } } }, /tools\.shell\.allowPatterns/],
    ['no time limit', { tools: { shell: { timeoutMs: 0 } } }, /tools\.shell\.timeoutMs 0/],
    ['more time', { tools: { shell: { timeoutMs: 60_001 } } }, /tools\.shell\.timeoutMs 60001/],
  ])('%s is left out with a warning', (_, project, warning) => {
    const global = { workspaceReads: 'ask', tools: { shell: { timeoutMs: 60_000 } } } as const
    const { warnings, ...with_ } = resolveSettings({ global, project })
    const { warnings: none, ...without } = resolveSettings({ global })
    expect(none).toEqual([])
    expect(warnings).toEqual([expect.stringMatching(warning)])
    expect(JSON.stringify(with_)).toBe(JSON.stringify(without))
  })

  test('its deny and ask rules count, without a warning', () => {
    const project = {
      mode: 'ask',
      deny: ['net'],
      ask: ['fs.write'],
      workspaceReads: 'ask',
      tools: { shell: { mode: 'confirm', denyPatterns: ['rm'], timeoutMs: 1000 } },
    } as const
    const global = {
      mode: 'yolo',
      tools: { shell: { mode: 'auto', allowPatterns: ['ls'], denyPatterns: ['curl'] } },
    } as const
    const settings = resolveSettings({ global, project })
    expect(settings).toMatchObject({ mode: 'ask', workspaceReads: 'ask', warnings: [] })
    expect(settings.tools.shell).toEqual({
      mode: 'confirm',
      allowPatterns: ['ls'],
      denyPatterns: ['curl', 'rm'],
      timeoutMs: 1000,
    })
    expect(settings.lists.deny[0]).toMatchObject({ layer: 'project', text: 'net' })
  })
})

describe('invalid settings are refused, with a suggestion', () => {
  test.each<[string, unknown, string, RegExp]>([
    ['an unknown mode', { launch: { mode: 'yolo!' } }, 'InvalidSecurityMode', /did you mean "yolo"/],
    ['a mode that is no text', { project: { mode: 1 } }, 'InvalidSecurityMode', /the project settings have the mode 1/],
    ['an unknown field', { global: { denny: [] } }, 'UnknownSetting', /did you mean "deny"/],
    ['a field that would move traffic', { project: { baseUrl: 'http://evil' } }, 'UnknownSetting', /"baseUrl"/],
    ['an unknown field of a tool', { global: { tools: { x: { denyPattern: [] } } } }, 'UnknownSetting', /denyPatterns/],
    ['a list that is none', { global: { deny: 'net' } }, 'InvalidSetting', /deny: "net"/],
    ['tools that are none', { global: { tools: [] } }, 'InvalidSetting', /write an object/],
    ['a wrong tool mode', { global: { tools: { x: { mode: 'on' } } } }, 'InvalidSetting', /"auto" or "confirm"/],
    ['a negative time', { global: { tools: { x: { timeoutMs: -1 } } } }, 'InvalidSetting', /timeoutMs: -1/],
    ['wrong reads', { global: { workspaceReads: 'deny' } }, 'InvalidSetting', /"allow" or "ask"/],
    ['settings that are none', { global: null }, 'InvalidSetting', /null/],
    ['a bad rule, also of a project', { project: { allow: ['fs.delete'] } }, 'InvalidRule', /allow\[0\]/],
    [
      'D019 a bad pattern',
      { global: { tools: { x: { denyPatterns: ['('] } } } },
      'InvalidPattern',
      /tools\.x\.denyPatterns/,
    ],
  ])('%s', (_, layers, code, message) => {
    const error = failure(layers)
    expect(error).toMatchObject({ class: 'Validation', code })
    expect(error.message).toMatch(message)
  })

  test('a tool may have any name', () => {
    const tools = JSON.parse('{"__proto__": {"mode": "confirm"}, "constructor": {"mode": "auto"}}')
    expect(Object.keys(resolveSettings({ launch: { tools } }).tools)).toEqual(['__proto__', 'constructor'])
  })
})
