// A tool in a file. Copy it to ~/.libero/tools, or to .libero/tools of a project that is trusted.
// Only types are imported, so it needs nothing installed beside it.
import type { ToolContract } from 'libero/layers'

interface Input {
  note: string
}

export default {
  kind: 'Tool',
  contractVersion: '1.0.0',
  requiredCoreVersion: '>=0.1.0',
  // What may be configured for it; `x-env` would list the variables it may read.
  configSchema: {
    type: 'object',
    properties: {
      enabled: { type: 'boolean' },
      timeoutMs: { type: 'integer', minimum: 1 },
      most: { type: 'integer', minimum: 1 },
    },
    required: ['enabled'],
    additionalProperties: false,
  },
  // What it keeps is part of the session, so it is there again when the session goes on another day.
  stateSlot: { slotVersion: 1, schema: { type: 'array', items: { type: 'string' } } },
  reloadBehavior: 'between-turns',
  name: 'remember',
  description: 'Keeps a short note for the rest of this session and lists all notes.',
  inputSchema: { type: 'object', properties: { note: { type: 'string' } }, required: ['note'] },
  executor: 'local',
  gated: false, // it touches nothing outside the session
  deriveApprovalKey: () => 'remember',
  effects: [],
  lifecycle: {},
  async execute({ note }, host) {
    const { most = 20 } = host.config.readOwn() as { most?: number }
    const notes = ((await host.session.state.read()) ?? []) as string[]
    if (notes.length >= most)
      return { ok: false, error: { class: 'ToolTerminal', code: 'Forbidden', message: `${most} notes are enough` } }
    await host.session.state.write([...notes, note])
    return { ok: true, value: [...notes, note].map((text, i) => `${i + 1}. ${text}`).join('\n') }
  },
} satisfies ToolContract<Input>
