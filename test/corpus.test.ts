import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))

test('corpus: compares our decoders with those of the AI SDK, file by file, and counts', {
  timeout: 60_000,
}, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'libero-corpus-'))
  try {
    const write = (name: string, events: readonly object[]) =>
      writeFile(join(folder, `${name}.chunks.txt`), events.map((event) => JSON.stringify(event)).join('\n'))
    const usage = { input_tokens: 3, output_tokens: 1 }
    await write('anthropic--main--greeting', [
      {
        type: 'message_start',
        message: { id: 'm', type: 'message', role: 'assistant', model: 'x', content: [], usage },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello.' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 2 } },
      { type: 'message_stop' },
    ])
    await write('cohere--main--greeting', [{ type: 'message-start' }])
    const fine = await corpus(folder)
    expect(fine.output.trimEnd()).toMatch(/corpus: equal 1, different 0, unsupported 1$/)
    expect(fine.code).toBe(0)

    await write('acme--main--greeting', [{ hello: 'there' }])
    await writeFile(
      join(folder, 'anthropic--main--broken.chunks.txt'),
      '{"type":"message_start","message":{}}\n{"type":',
    )
    await write('anthropic--main--lost', [
      { type: 'content_block_delta', index: 7, delta: { type: 'text_delta', text: 'x' } },
    ])
    const { code, output } = await corpus(folder)
    for (const name of ['acme--main--greeting', 'anthropic--main--broken', 'anthropic--main--lost'])
      expect(output).toMatch(new RegExp(`^different +${name}`, 'm'))
    expect(output).toMatch(/^equal +anthropic--main--greeting/m)
    expect(output).toMatch(/^unsupported +cohere--main--greeting/m)
    expect(output.trimEnd()).toMatch(/corpus: equal 1, different 3, unsupported 1$/)
    expect(code).toBe(1)
    expect(await corpus(join(folder, 'none'))).toMatchObject({ code: 2 })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})

function corpus(folder: string): Promise<{ code: number; output: string }> {
  const args = ['--conditions=libero-source', 'scripts/corpus.ts', folder]
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: root, timeout: 50_000 }, (error, stdout) =>
      resolve({ code: Number(error?.code ?? 0), output: stdout }),
    )
  })
}
