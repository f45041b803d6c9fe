/** Whether a session is the conversation of an agent: `libero agents` looks after those. */
export const isAgent = (id: string): boolean => id.startsWith('agent-')
