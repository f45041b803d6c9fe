/** Where a provider hands out keys. */
export const keyPages: Readonly<Record<string, string>> = {
  anthropic: 'https://console.anthropic.com/settings/keys',
  openai: 'https://platform.openai.com/api-keys',
  openrouter: 'https://openrouter.ai/settings/keys',
  google: 'https://aistudio.google.com/apikey',
  cerebras: 'https://cloud.cerebras.ai',
  groq: 'https://console.groq.com/keys',
  deepseek: 'https://platform.deepseek.com/api_keys',
  mistral: 'https://console.mistral.ai/api-keys',
  xai: 'https://console.x.ai',
}
