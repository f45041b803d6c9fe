import { dirname } from 'node:path'
import { shellQuote } from '../../core/execution.ts'
import type { ToolCheck, ToolContext, ToolDef, ToolResult } from '../../core/tool.ts'
import { digestOf } from '../../platform/digest.ts'
import { asRuntime, isSingleExecutable } from '../../platform/own-executable.ts'
import { peerPackages } from '../../platform/peer-packages.ts'
import { visibleName } from '../../platform/visible-text.ts'
import { OutputCollector } from '../../tools/shell/output-collector.ts'
import { shellResult } from '../../tools/shell/shell-result.ts'
import { definePlugin, type PluginDefinition, type PluginSetup } from '../plugin.ts'
import { workspaceFolder } from './workspace-folder.ts'

const description = `Runs a JavaScript module with zx: \`$\`, \`cd\`, \`fs\`, \`path\`, \`glob\` and the like are there, and top-level await.
What it prints with console.log comes back, with its exit code. It runs in the folder of the workspace and is ended at its time limit, with all it started.`

const inputSchema = {
  type: 'object',
  properties: {
    workspaceName: {
      type: 'string',
      description: 'The wiki in whose folder it runs. Default: your working directory.',
    },
    script: { type: 'string', description: 'The whole script.' },
    fileName: { type: 'string', description: 'What to call it, for people; no file of this name is made.' },
  },
  required: ['script'],
}

interface ZxScriptInput {
  readonly workspaceName?: string
  readonly script: string
  readonly fileName?: string
}

export interface ZxScriptOptions {
  /** Finds zx on this machine. Default: the installed package. */
  readonly findZx?: typeof findZx
}

const defaultLimitMs = 30_000
/** How long an execution context may take to end a script after its time limit; then the engine ends the call. */
const graceMs = 10_000
const maxOutputBytes = 32_768
const maxScriptBytes = 1024 * 1024

/** Lets the model run scripts. Each needs an approval, unless the same script has a grant. */
export function createZxScriptPlugin(options: ZxScriptOptions = {}): PluginDefinition {
  return definePlugin({
    toolId: 'zx-script',
    displayName: 'Scripts',
    description: 'Runs scripts with zx in the folder of a wiki.',
    defaultApproval: { 'zx-script': { mode: 'confirm' } },
    tools: (setup) => [zxScriptTool(setup, options)],
  })
}

export const zxScriptPlugin: PluginDefinition = createZxScriptPlugin()

function zxScriptTool({ services, entry }: PluginSetup, options: ZxScriptOptions): ToolDef<ZxScriptInput> {
  const limitMs = entry.timeoutMs ?? defaultLimitMs
  return {
    spec: { name: 'zx-script', description, inputSchema },
    isConcurrencySafe: false,
    replay: 'opaque',
    effects: ['exec', 'fs.read', 'fs.write', 'net'],
    // An approval covers exactly this script in this folder, under any file name.
    deriveApprovalKey: ({ script, workspaceName = '' }) => digestOf(JSON.stringify([workspaceName, script])),
    timeoutMs: limitMs > 0 ? limitMs + graceMs : 0,
    check: checkScript,
    async execute(input, ctx) {
      const folder = await workspaceFolder(services, input.workspaceName)
      const zx = packageFor(ctx, options)
      return runScript(input, ctx, { folder, limitMs, zx })
    },
  }
}

function checkScript({ script }: Record<string, unknown>): ToolCheck | undefined {
  if (typeof script !== 'string') return undefined
  if (script.trim() === '') return { valid: false, error: '"script" is empty; write what is to be run' }
  const bytes = Buffer.byteLength(script)
  if (bytes <= maxScriptBytes) return undefined
  return { valid: false, error: `"script" has ${bytes} bytes, at most ${maxScriptBytes} are possible; make it shorter` }
}

/** The package on this machine; `undefined` if commands run elsewhere, or without a Node to start, where zx must be a program. */
function packageFor({ execution }: ToolContext, { findZx: find = findZx }: ZxScriptOptions): ZxPackage | undefined {
  const { shell, hostPrograms } = execution.capabilities
  if (!shell) throw new Error(`scripts cannot be run here: the execution context "${execution.type}" has no shell`)
  if (!hostPrograms || isSingleExecutable()) return undefined
  const zx = find()
  if (!zx) throw new Error('scripts need the package zx, which is not installed; ask the user to run `npm install zx`')
  return zx
}

interface Start {
  readonly folder: string | undefined
  readonly limitMs: number
  readonly zx: ZxPackage | undefined
}

async function runScript(input: ZxScriptInput, ctx: ToolContext, start: Start): Promise<ToolResult> {
  const { execution, handle, signal, progress, runId, callId } = ctx
  const { folder, limitMs, zx } = start
  const listener = new OutputCollector({ maxBytes: maxOutputBytes, progress })
  const startedAt = performance.now()
  try {
    const result = await execution.exec(handle, zxCommand(zx), {
      input: input.script,
      timeout: limitMs,
      signal,
      onOutput: listener.receive,
      call: { runId, callId },
      ...(zx && { programs: [process.execPath, zx.folder] }),
      ...(folder !== undefined && { cwd: folder }),
    })
    signal.throwIfAborted()
    listener.receiveAll(result)
    const elapsedMs = Math.round(performance.now() - startedAt)
    const limits = { timeoutMs: limitMs, maxTimeoutMs: limitMs, background: false }
    const ended = { result, output: listener.take(), elapsedMs, ...limits }
    const shown = shellResult(ended, { metadata: true })
    const fileName = input.fileName && visibleName(input.fileName.slice(0, longestLabel))
    return { ...shown, details: { ...shown.details, ...(fileName && { fileName }) } }
  } finally {
    listener.close()
  }
}

const longestLabel = 200

interface ZxPackage {
  /** Its command-line program, for node. */
  readonly cli: string
  /** For scripts that import zx by its name. */
  readonly folder: string
}

/** The `zx` package, an optional peer; `undefined` if it is not installed. */
function findZx(): ZxPackage | undefined {
  try {
    const { resolve } = peerPackages()
    return { cli: resolve('zx/cli'), folder: dirname(resolve('zx/package.json')) }
  } catch {
    return undefined
  }
}

/**
 * A shell line that runs the script on its stdin with zx, from a temporary file outside of any workspace. The shell starts
 * zx in the background and waits, so that it receives signals and removes the file.
 */
function zxCommand(zx: ZxPackage | undefined): string {
  const program = zx ? `${runtime()}${[process.execPath, zx.cli].map(shellQuote).join(' ')}` : 'zx'
  return [
    ...(zx ? [] : [`command -v zx >/dev/null || { echo ${shellQuote(missingThere)} >&2; exit 127; }`]),
    'dir=$(mktemp -d -t zx-script-XXXXXX) || exit 1',
    `trap 'rm -rf "$dir"' EXIT`,
    `trap 'exit 143' TERM INT HUP`,
    'cat >"$dir/script.mjs" || exit 1',
    ...(zx ? [`mkdir "$dir/node_modules" && ln -s ${shellQuote(zx.folder)} "$dir/node_modules/zx"`] : []),
    `${program} "$dir/script.mjs" </dev/null &`,
    'wait $!',
  ].join('\n')
}

/** Only where they are needed: the programs that a script starts inherit the variables. */
const runtime = (): string => (process.versions.electron || process.versions.bun ? `${asRuntime} ` : '')

const missingThere = 'zx is not installed where scripts run; run `npm install -g zx` there'
