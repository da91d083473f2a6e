// In development, Next.js shows a button. Here it covers nothing.
export default { devIndicators: { position: 'top-right' } };
