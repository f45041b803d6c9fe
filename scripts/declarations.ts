import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { dts } from 'rolldown-plugin-dts'

/**
 * The types of each entry, and what they share in a few files more, with their comments. Gives a problem, or undefined.
 * `flags` are for `tsc`.
 */
export async function writeTypes(
  root: string,
  entries: Iterable<string>,
  dist: string,
  flags: readonly string[],
): Promise<string | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'libero-types-'))
  try {
    const problem = compiled(root, folder, flags)
    if (problem === undefined) await bundled(folder, entries, dist)
    return problem
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A file of types for each file of the source. */
function compiled(root: string, outDir: string, flags: readonly string[]): string | undefined {
  // Through our own node, because the script's shebang may find an older one on the PATH.
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const args = [tsc, '-p', join(root, 'tsconfig.build.json'), '--outDir', outDir, ...flags]
  const { status, signal, error } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' })
  if (status === 0) return undefined
  return error?.message ?? (signal ? `tsc died of ${signal}` : `tsc exited with ${status}`)
}

async function bundled(folder: string, entries: Iterable<string>, dir: string): Promise<void> {
  const bundle = await rolldown({
    input: Object.fromEntries([...entries].map((entry) => [entry, join(folder, `${entry}.d.ts`)])),
    external: /^[^./]/,
    // It bundles what `tsc` wrote; the generator, which it would else look for, has nothing to do.
    plugins: [dts({ dtsInput: true, emitDtsOnly: true, generator: 'oxc', tsconfig: false })],
    checks: { bundlerTimings: false },
  })
  await bundle.write({ dir, format: 'esm', entryFileNames: '[name].ts', chunkFileNames: 'types/[name].d.ts' })
  await bundle.close()
}
