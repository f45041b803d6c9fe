import { exitCodes } from '../cli-error.ts'
import { defineCommand } from '../command.ts'

/** `libero tools`. */
export const command = defineCommand({
  name: 'tools',
  summary: 'Show the tools an agent has here, and where each comes from',
  details: [
    'A tool comes with Libero (program), from your own folder (global), or from the project (project), whose tools are used only once it is trusted: until then they are named and not opened. Where two have the same name, the project’s is used, then yours, then Libero’s.',
  ],
  flags: {
    preset: { type: 'string', choices: ['basic', 'coding', 'build', 'plan'], says: 'Those of this preset' },
    profile: { type: 'string', choices: ['build', 'plan'], says: 'Those of this profile' },
    cwd: { type: 'string', value: 'folder', says: 'Those an agent would have there' },
    json: { type: 'boolean', says: 'One JSON object on stdout: { tools, notices }' },
  },
  examples: [
    { line: 'libero tools', says: 'What an agent can use here' },
    { line: 'libero tools --profile plan', says: 'What is left when it may only look' },
  ],
  async run({ values }, io) {
    const [{ listTools }, { toolTable }] = await Promise.all([
      import('../tools/list-tools.ts'),
      import('../tools/list-tools.ts'),
    ])
    const { tools, notices } = await listTools(values, io)
    if (values.json) io.out((await import('../text.ts')).jsonText({ tools, notices }))
    else {
      for (const line of toolTable(tools)) io.out(line)
      for (const notice of notices) io.err(notice)
    }
    return exitCodes.done
  },
})
