import { exitCodes } from '../cli-error.ts'
import { defineCommand } from '../command.ts'

/** `libero tools`. */
export const command = defineCommand({
  name: 'tools',
  summary: 'Show the tools an agent has in this folder, and where each comes from',
  details: [
    'A tool comes with Libero (program), from your own folder (global), or from the project (project). Tools of a project are used only if it is trusted; before that they are listed but not opened. Of tools with the same name, the project’s is used, then yours, then Libero’s.',
  ],
  flags: {
    preset: { type: 'string', choices: ['basic', 'coding', 'build', 'plan'], says: 'The tools of this preset' },
    profile: { type: 'string', choices: ['build', 'plan'], says: 'The tools of this profile' },
    cwd: { type: 'string', value: 'folder', says: 'The folder to look in' },
    json: { type: 'boolean', says: 'Print one JSON object: { tools, notices }' },
  },
  examples: [
    { line: 'libero tools', says: 'The tools an agent has in this folder' },
    { line: 'libero tools --profile plan', says: 'The tools of a read-only agent' },
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
