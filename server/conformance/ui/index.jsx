function Weather({ city }) {
  return <div>Weather for {city}</div>;
}

export default { "weather-component": Weather };
