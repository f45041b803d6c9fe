import { Panels } from '../parts/panels.tsx'
import { McpPanel } from '../tools/mcp-panel.tsx'
import { SkillsPanel } from '../tools/skills-panel.tsx'
import { ToolsPanel } from '../tools/tools-panel.tsx'

const panels = [
  ['Tools', ToolsPanel],
  ['MCP servers', McpPanel],
  ['Skills', SkillsPanel],
] as const

/** What agents can use: tools, MCP servers, skills. */
export const ToolsScreen = () => <Panels title="Tools" panels={panels} />
