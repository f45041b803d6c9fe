import { createAgent } from '../src/create-agent.ts'
import { createProcessContext } from '../src/execution/process.ts'
import { codingTools } from '../src/presets/coding.ts'
import { call, scripted } from '../src/testing/index.ts'

/** One call of a tool by an agent of its own, in a real folder; what fails is an error. */
export async function callTool(cwd: string, name: string, input: Record<string, unknown>): Promise<string> {
  const provider = scripted([call('1', name, input)], 'done')
  const agent = createAgent({ provider, tools: codingTools, execution: createProcessContext({ cwd }) })
  await agent.run({ prompt: 'go' })
  await agent.destroy()
  const [result] = provider.requests[1]!.messages.at(-1)!.content
  if (result?.type !== 'tool_result' || result.isError) throw new Error(`${name} failed: ${JSON.stringify(result)}`)
  return String(result.output)
}
